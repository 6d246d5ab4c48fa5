import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, gunzipSync } from 'node:zlib'
import { foldLines } from './naive-fold.ts'
import type { FoldedObservation } from './naive-fold.ts'

/** One recorded ticker and its files, in order of received time. */
export type RecordedTicker = {
  readonly ticker: string
  readonly files: readonly string[]
}

/** The folder of the recorded order book channel inside a recordings folder. */
export const channelFolder = join('venueb', 'ws-gold15m')

/** Finds the recorded tickers below a recordings folder, by name. */
export function findRecordings(folder: string): RecordedTicker[] {
  const channel = join(folder, channelFolder)
  if (!existsSync(channel)) throw new Error(`No folder ${channelFolder} in ${folder}`)
  return readdirSync(channel, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name: ticker }) => ({ ticker, files: filesOf(join(channel, ticker)) }))
    .filter(({ files }) => files.length > 0)
    .sort((left, right) => (left.ticker < right.ticker ? -1 : 1))
}

/** Reads the lines of one ticker as recorded, trades included, joined over its files. */
export function* readLines(recorded: RecordedTicker): Generator<string> {
  for (const file of recorded.files) {
    const bytes = gunzipSync(readFileSync(file))
    // Line by line, so that a large file is never one string and an array of strings at once.
    let start = 0
    while (start < bytes.length) {
      const newline = bytes.indexOf(10, start)
      const end = newline === -1 ? bytes.length : newline
      if (end > start) yield bytes.toString('utf8', start, end)
      start = end + 1
    }
  }
}

/** Folds one recorded ticker into one book an observation. */
export function readObservations(recorded: RecordedTicker): Generator<FoldedObservation> {
  return foldLines(readLines(recorded))
}

const FIRST_LINE_BYTES = 65_536

/** A ticker is split over files at UTC midnight, and only its first file starts with a snapshot. */
function filesOf(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ndjson.gz'))
    .map((name) => join(folder, name))
    .map((file) => ({ file, receivedMs: firstReceivedMs(file) }))
    .sort((left, right) => left.receivedMs - right.receivedMs)
    .map(({ file }) => file)
}

// Unpacks the beginning alone: a first line is a book, which is far smaller.
function firstReceivedMs(file: string): number {
  const packed = readFileSync(file).subarray(0, FIRST_LINE_BYTES)
  const bytes = gunzipSync(packed, { finishFlush: constants.Z_SYNC_FLUSH })
  const newline = bytes.indexOf(10)
  const line = bytes.toString('utf8', 0, newline === -1 ? bytes.length : newline)
  return line === '' ? 0 : (JSON.parse(line) as { readonly recv_ms: number }).recv_ms
}
