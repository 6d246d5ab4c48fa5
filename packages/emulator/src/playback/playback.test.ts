import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { writeJournal, type WrittenRecord } from './journal.testing.ts'
import { playRecording } from './play.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'priorbook-playback-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const START = 1_790_000_000_000
const SUBSCRIBE = '{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta","trade"]}}'

function event(ticker: string, sid: number, seq: number): string {
  return `{"type":"orderbook_delta","sid":${sid},"seq":${seq},"msg":{"market_ticker":"${ticker}"}}`
}

function writeRecording(name: string, lines: readonly [number, string][]): string {
  const text = lines.map(([ms, frame]) => `{"recv_ms":${START + ms},"event":${frame}}\n`).join('')
  const file = join(folder, name)
  writeFileSync(file, name.endsWith('.gz') ? gzipSync(text) : text)
  return file
}

/** Everything a socket hears until it ends, with the times. */
function listen(
  ws: string,
  first?: string,
): { readonly heard: string[]; readonly times: number[]; readonly ended: Promise<number> } {
  const socket = new WebSocket(ws)
  const heard: string[] = []
  const times: number[] = []
  if (first !== undefined) socket.on('open', () => socket.send(first))
  socket.on('message', (data: Buffer) => {
    heard.push(data.toString())
    times.push(performance.now())
  })
  socket.on('error', () => {})
  return { heard, times, ended: new Promise((resolve) => socket.once('close', resolve)) }
}

describe('playing recordings of venue B', () => {
  it('merges files and sends the recorded bytes in the recorded order and pace', async () => {
    const one = writeRecording('one.ndjson', [
      [0, event('A', 1, 1)],
      [10, event('A', 1, 4)],
      [400, event('A', 1, 5)],
    ])
    const two = writeRecording('two.ndjson.gz', [
      [5, event('B', 1, 2)],
      [10, event('B', 1, 3)],
    ])
    const playback = await playRecording({ venue: 'venueb', files: [one, two], speed: 2 })
    // Before the first frame: a client that reads that one late must not make the rest look too soon.
    const begun = performance.now()
    const { heard, times } = listen(playback.ws, SUBSCRIBE)
    await playback.done
    await until(() => heard.length === 7)
    expect(heard.slice(0, 2)).toEqual([
      '{"id":1,"type":"subscribed","msg":{"channel":"orderbook_delta","sid":1}}',
      '{"id":1,"type":"subscribed","msg":{"channel":"trade","sid":2}}',
    ])
    expect(heard.slice(2)).toEqual([
      event('A', 1, 1),
      event('B', 1, 2),
      event('B', 1, 3),
      event('A', 1, 4),
      event('A', 1, 5),
    ])
    expect(times.at(-1)! - begun).toBeGreaterThan(180)
    expect(playback.sent).toBe(5)
    await playback.close()
  })

  it('ends the socket where the recording began a new one, and goes on with the next client', async () => {
    const file = writeRecording('cut.ndjson', [
      [0, event('A', 1, 2_000)],
      [1, event('A', 1, 2_001)],
      [2, event('A', 1, 22)],
    ])
    const playback = await playRecording({ venue: 'venueb', files: [file], speed: Infinity })
    const first = listen(playback.ws, SUBSCRIBE)
    expect(await first.ended).toBe(1001)
    expect(first.heard.slice(2)).toEqual([event('A', 1, 2_000), event('A', 1, 2_001)])
    const second = listen(playback.ws, SUBSCRIBE)
    await playback.done
    await until(() => second.heard.length === 3)
    expect(second.heard[2]).toBe(event('A', 1, 22))
    await playback.close()
  })

  it('shortens silences when asked to, and names lines that are none', async () => {
    const file = writeRecording('quiet.ndjson', [
      [0, event('A', 1, 1)],
      [3_600_000, event('A', 1, 2)],
    ])
    writeFileSync(file, 'nonsense\n{"recv_ms":1,"event":{}}\n', { flag: 'a' })
    const playback = await playRecording({ venue: 'venueb', files: [file], maxSilenceMs: 10 })
    const { heard } = listen(playback.ws, SUBSCRIBE)
    await playback.done
    await until(() => heard.length === 4)
    expect(playback.problems.map(({ error }) => error.code)).toEqual([
      'invalid_line',
      'invalid_line',
    ])
    await playback.close()
  })
})

describe('playing a journal', () => {
  it('gives every recorded socket to a client of its own, frames byte for byte', async () => {
    const dir = join(folder, 'journal')
    const records: WrittenRecord[] = []
    const add = (kind: 'message' | 'note', slot: number, text: string): void => {
      records.push({ received: (START + records.length) * 1000, kind, slot, text })
    }
    const connected = (slot: number): string =>
      JSON.stringify({ note: 'connected', slot, url: 'x' })
    add('note', 0, connected(1))
    add('note', 0, connected(2))
    add('message', 1, '[{"event_type":"book","asset_id":"1"}]')
    add('message', 0, '{"request":{"kind":"book"},"answer":{}}')
    add('message', 2, '{"event_type":"price_change","n":"é"}')
    add('message', 1, '{"event_type":"price_change"}')
    writeJournal(dir, 'venuec', records)
    const playback = await playRecording({ venue: 'venuec', journal: dir, speed: Infinity })
    const one = listen(playback.ws, '{"assets_ids":["1"],"type":"market"}')
    await until(() => one.heard.length === 1)
    const two = listen(playback.ws, '{"assets_ids":["2"],"type":"market"}')
    await playback.done
    await until(() => one.heard.length === 2 && two.heard.length === 1)
    expect(one.heard).toEqual([
      '[{"event_type":"book","asset_id":"1"}]',
      '{"event_type":"price_change"}',
    ])
    expect(two.heard).toEqual(['{"event_type":"price_change","n":"é"}'])
    await playback.close()
  })
})

async function until(test: () => boolean): Promise<void> {
  while (!test()) await new Promise((resolve) => setTimeout(resolve, 5))
}
