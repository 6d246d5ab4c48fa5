import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import type { DataInput, InputFile, Report } from '../backtest/index.ts'
import { packageVersion } from '../command-line/index.ts'
import type { BacktestJob } from './backtest-job.ts'

/** Adds to a report what it was made of: version, strategy and files with their SHA-256. */
export async function withInputs(report: Report, job: BacktestJob): Promise<Report> {
  const rows = report.markets.map((market) => [market.market, market.rows])
  const files: InputFile[] = []
  // Events are merged by time: the order in which files are named changes nothing.
  for (const file of job.files.toSorted()) files.push(await describeFile(file))
  const data: DataInput[] = []
  for (const { name, path, column } of job.data) {
    const facts = { feed: name, ...(await describeFile(path)) }
    data.push(column === undefined ? facts : { ...facts, column })
  }
  return {
    ...report,
    inputs: {
      priorbook: packageVersion(import.meta.url),
      // The module alone: what it imports is not part of the hash.
      strategy: await describeFile(fileURLToPath(job.strategy)),
      files,
      data,
      rows_sha256: hash('sha256', JSON.stringify(rows), 'hex'),
    },
  }
}

async function describeFile(path: string): Promise<InputFile> {
  const sha = createHash('sha256')
  let bytes = 0
  await pipeline(createReadStream(path), async (chunks) => {
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      bytes += chunk.length
      sha.update(chunk)
    }
  })
  return { name: basename(path), bytes, sha256: sha.digest('hex') }
}
