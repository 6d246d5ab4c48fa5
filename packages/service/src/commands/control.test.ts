import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { callServer } from './call.testing.ts'
import { startServe } from './serve.testing.ts'

const scratch = mkdtempSync(join(tmpdir(), 'priorbook-control-'))
const data = join(scratch, 'data')
const control = join(data, 'control.db')
const garbage = Buffer.alloc(40_000, 'not a database ')

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function makeKey(folder = data): Promise<string> {
  const args = ['keys', 'create', '--plan', 'desk', '--data', folder, '--json']
  const { out } = await callServer(...args)
  return (JSON.parse(out) as { key: string }).key
}

async function serve() {
  const args = ['--data', data, '--upstream', 'emulator', '--workers', '1', '--speed', '10']
  const { child, end, url, ops, printed } = await startServe(scratch, args, {
    PRIORBOOK_LOG_LEVEL: 'warn',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    printed,
    statusOf: async (key: string): Promise<number> => {
      const headers = { authorization: `Bearer ${key}` }
      return (await fetch(`${url}/v3/whoami`, { headers })).status
    },
    messages: async (): Promise<number> => {
      const metrics = await (await fetch(`${ops}/metrics`)).text()
      const lines = metrics.match(/^priorbook_messages_total\{.*$/gm) ?? []
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    },
    stop: async (): Promise<void> => {
      expect(await end()).toBe(0)
    },
  }
}

function remove(): void {
  for (const end of ['', '-wal', '-shm']) rmSync(control + end, { force: true })
}

test('a damaged, deleted or replaced control file stops neither recording nor reading', async () => {
  const used = await makeKey()
  const unused = await makeKey()
  const { statusOf, messages, printed, stop } = await serve()
  expect(await statusOf(used)).toBe(200)
  const goOn = async (): Promise<void> => {
    const before = await messages()
    // Longer than grants are remembered for.
    await pause(1500)
    await expect.poll(messages).toBeGreaterThan(before)
  }

  writeFileSync(control, garbage)
  await goOn()
  expect([await statusOf(used), await statusOf(unused)]).toEqual([200, 200])
  remove()
  await goOn()
  expect([await statusOf(used), await statusOf(unused)]).toEqual([200, 200])
  // Lines of the log are written twice a second.
  await expect.poll(printed).toContain('the keys known so far go on working')

  // An operator puts another file in its place.
  const other = join(scratch, 'other')
  const next = await makeKey(other)
  remove()
  copyFileSync(join(other, 'control.db'), control)
  await expect.poll(() => statusOf(next)).toBe(200)
  // Its grant is remembered for a second.
  await expect.poll(() => statusOf(used)).toBe(401)
  expect(await statusOf(next)).toBe(200)
  await goOn()
  await stop()
})

test('a start over a damaged or deleted control file goes on with the last good copy', async () => {
  const key = await makeKey()
  const first = await serve()
  expect(await first.statusOf(key)).toBe(200)
  await first.stop()
  for (const damage of [() => writeFileSync(control, garbage), remove]) {
    damage()
    const again = await serve()
    expect(await again.statusOf(key)).toBe(200)
    await expect.poll(again.messages).toBeGreaterThan(0)
    await expect.poll(again.printed).toContain('keys and secrets come from')
    await again.stop()
  }
  expect(readdirSync(data).some((name) => name.startsWith('control.db.damaged-'))).toBe(true)
})
