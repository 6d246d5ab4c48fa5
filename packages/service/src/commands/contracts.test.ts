import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { callServer } from './call.testing.ts'
import { startServe } from './serve.testing.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))
const MARKET = 'KXSYNT15M-26AUG102130-30'

const scratch = mkdtempSync(join(tmpdir(), 'priorbook-contracts-'))
const data = join(scratch, 'data')
const file = join(scratch, 'contracts.json')
let key = ''

beforeAll(async () => {
  await callServer('import', 'venueb', SAMPLE, '--data', data)
  const made = await callServer('keys', 'create', '--plan', 'desk', '--data', data, '--json')
  key = (JSON.parse(made.out) as { key: string }).key
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

function write(id: string): void {
  const members = [{ venue: 'venueb', market_id: MARKET, yes: 'Yes' }]
  writeFileSync(file, JSON.stringify({ contracts: [{ id, title: 'The sample', members }] }))
}

async function serve() {
  const args = ['--data', data, '--upstream', 'none', '--workers', '1']
  const env = { PRIORBOOK_LOG_LEVEL: 'warn', PRIORBOOK_CONTRACTS_FILE: file }
  const served = await startServe(scratch, args, env)
  onTestFinished(() => void served.child.kill('SIGKILL'))
  return served
}

test('the operator’s file of contracts is served, and read again on SIGHUP if it is right', async () => {
  write('x-first')
  const { child, url, printed, end } = await serve()
  const ask = async (id: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` }
    return (await fetch(`${url}/v3/contracts/${id}`, { headers })).status
  }
  expect(await ask('x-first')).toBe(200)
  expect(await ask('x-second')).toBe(404)
  write('x-second')
  child.kill('SIGHUP')
  while ((await ask('x-second')) !== 200) await pause(20)
  writeFileSync(file, '{"contracts": [{"id": "mine", "members": []}]}')
  child.kill('SIGHUP')
  while (!printed().includes('contracts.0.id must be')) await pause(20)
  expect(await ask('x-second')).toBe(200)
  expect(await end()).toBe(0)
})

test('a wrong file of contracts stops the start and says why', async () => {
  writeFileSync(file, '{"refuse": [{"venue": "venuez"}]}')
  const { child, printed } = await serve()
  expect(child.exitCode).toBe(1)
  expect(printed()).toContain('refuse.0.venue must be one of venuea, venueb, venuec')
})
