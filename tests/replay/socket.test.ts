import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@priorbook/sdk/client'
import { downloadSource, replay, replayMessages, type Replay } from '@priorbook/sdk/replay'
import { createReplayPlatform, replayFiles } from '@priorbook/sdk/replay/node'
import { expect, onTestFinished, test } from 'vitest'
import { lineOf } from '../../packages/sdk/src/replay/container.testing.ts'
import { openScriptedStore } from '../../packages/service/src/api/bulk/scripted-store.testing.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'
import { expectLines } from '../../packages/service/src/store/store-answers.testing.ts'

// Instruments are numbered by first appearance on a socket and by name in files. The socket sends every
// version of a market record, files hold only the newest.
async function linesOf(source: Replay): Promise<string[]> {
  const lines: string[] = []
  for await (const batch of source) {
    for (const event of batch) {
      if (event.kind === 'market') continue
      lines.push(lineOf(event).replace(/,index=\d+/, ''))
    }
  }
  return lines
}

test('the socket, downloads by a client and files give the same events', async () => {
  const scripted = await openScriptedStore(9, 90)
  const { server, keyOf } = await createTestServer({ store: scripted.store })
  onTestFinished(() => scripted.close())
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const client = createClient({ url, key: keyOf('unlimited') })
  const range = { start_time: scripted.end - 31 * 86_400_000_000, end_time: scripted.end }
  const families = [
    { venue: 'venuea', asset: 'BTC' },
    { venue: 'venueb', series: 'KXALL' },
    { venue: 'venuec', asset: 'BTC' },
  ] as const
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-socket-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const asked = families.flatMap((family) =>
    (['books', 'trades'] as const).map((dataset) => ({
      ...family,
      ...range,
      dataset,
      format: 'tape' as const,
    })),
  )
  const files: string[] = []
  for (const [index, params] of asked.entries()) {
    const parts: Uint8Array[] = []
    for await (const part of (await client.download(params)).body) parts.push(Buffer.from(part))
    const file = join(folder, `${index}.pbx`)
    writeFileSync(file, Buffer.concat(parts))
    files.push(file)
  }
  const local = await linesOf(replayFiles(files))
  expect(local.length).toBeGreaterThan(300)
  expect(local.some((line) => line.includes(' trade '))).toBe(true)
  const sources = asked.map((params) => downloadSource(client, params))
  expectLines(await linesOf(replay({ sources, platform: createReplayPlatform() })), local)
  for (const mode of ['full', 'changes'] as const) {
    const style = { mode, number_format: 'string' } as const
    const messages = client.socketReplay({ markets: families, ...range, ...style })
    expectLines(await linesOf(replayMessages(messages)), local)
  }
  // A size of 16 digits that came as a JSON number is rejected, not rounded.
  const rounded = client.socketReplay({ markets: families, ...range })
  await expect(linesOf(replayMessages(rounded))).rejects.toThrow(/number_format/)
})
