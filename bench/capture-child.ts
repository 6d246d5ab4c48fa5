import { sign, constants } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { listSegments, openSegment } from '@priorbook/sdk/journal/format'
import { WebSocket } from 'ws'
import { runPacker } from '../packages/service/src/commands/packer.ts'
import { toConnectors, type EmulatedAddresses } from '../packages/service/src/commands/emulated.ts'
import { loadConfig } from '../packages/service/src/config/index.ts'
import { openRecorder } from '../packages/service/src/recorder/recorder.ts'
import { openEmbeddedStore } from '../packages/service/src/store/embedded/open.ts'
import type { CaptureMode, CaptureSecond } from './capture.ts'

// Records venue B of the emulator, or only reads and parses the same socket, telling every second how
// far it is, until standard input ends.
const [mode, folder, json] = process.argv.slice(2) as [CaptureMode, string, string]
// Files of a journal that is archived end after some seconds of the flood, so that there is something to pack within a minute.
const SEGMENT_BYTES = 2 * 1024 * 1024
const addresses = JSON.parse(json) as EmulatedAddresses
const stop = new AbortController()
process.stdin.resume()
process.stdin.once('end', () => stop.abort())

if (mode === 'bare') await readOnly()
else await record()
process.exit(0)

async function record(): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  const journalDir = join(folder, 'journal')
  const env = { PRIORBOOK_VENUEA_ENABLED: 'false', PRIORBOOK_VENUEC_ENABLED: 'false' }
  const log = { info: () => undefined, warn: console.error, error: console.error }
  const recorder = await openRecorder({
    store,
    journalDir,
    segments: () => (mode === 'archiving' ? { segmentBytes: SEGMENT_BYTES } : {}),
    origin: 'emulator',
    recorder: 'bench',
    log,
    connectors: toConnectors(loadConfig({ env }), addresses),
  })
  const packer =
    mode === 'archiving' ? runPacker({ journalDir }, noPacks, stop.signal, log) : undefined
  const timer = every(() => {
    const { venues, lag } = recorder.status()
    const messages = venues.venueb!.messages
    return {
      messages,
      lagP99Ms: lag.p99Ms,
      lagMaxMs: lag.maxMs,
      archived: countArchived(journalDir),
    }
  })
  await recorder.run(stop.signal)
  await packer
  clearInterval(timer)
  await store.close()
}

// Only the journal is packed here.
function noPacks(): Promise<boolean> {
  return Promise.resolve(false)
}

// The records of packed files: from the number of each up to that of the next file.
function countArchived(dir: string): number {
  const names = listSegments(dir, 'venueb')
  let count = 0
  for (const [index, name] of names.slice(0, -1).entries()) {
    const segment = openSegment(name)
    if (segment?.header?.version === 2) count += names[index + 1]!.first - name.first
    segment?.close()
  }
  return count
}

async function readOnly(): Promise<void> {
  const { rest = '', ws: url = '', keyId = '', privateKey = '' } = addresses.venueb ?? {}
  const answer = await fetch(`${rest}/markets?status=open&limit=1000`)
  const { markets } = (await answer.json()) as { markets: { ticker: string }[] }
  const timestamp = String(Date.now())
  const signature = sign('sha256', Buffer.from(`${timestamp}GET/trade-api/ws/v2`), {
    key: privateKey,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  })
  const headers = {
    'KALSHI-ACCESS-KEY': keyId,
    'KALSHI-ACCESS-TIMESTAMP': timestamp,
    'KALSHI-ACCESS-SIGNATURE': signature.toString('base64'),
  }
  const ws = new WebSocket(url, { headers, perMessageDeflate: false, skipUTF8Validation: true })
  let messages = 0
  ws.on('message', (data: Buffer) => {
    const parsed: unknown = JSON.parse(data.toString('latin1'))
    if (typeof parsed === 'object') messages++
  })
  ws.on('open', () => {
    const market_tickers = markets.map(({ ticker }) => ticker)
    const params = { channels: ['orderbook_delta'], market_tickers, use_yes_price: false }
    ws.send(JSON.stringify({ id: 1, cmd: 'subscribe', params }))
  })
  const timer = every(() => ({ messages, lagP99Ms: 0, lagMaxMs: 0, archived: 0 }))
  await new Promise<void>((resolve, reject) => {
    stop.signal.addEventListener('abort', () => resolve())
    ws.on('close', (code) => reject(new Error(`the emulator closed the socket with ${code}`)))
  })
  clearInterval(timer)
  ws.terminate()
}

function every(read: () => Omit<CaptureSecond, 'cpuSeconds' | 'rssMb'>): NodeJS.Timeout {
  return setInterval(() => {
    const { user, system } = process.cpuUsage()
    const line: CaptureSecond = {
      ...read(),
      cpuSeconds: (user + system) / 1e6,
      rssMb: process.memoryUsage.rss() / 1e6,
    }
    console.log(JSON.stringify(line))
  }, 1000)
}
