import { basename } from 'node:path'
import type { DayProofJson } from '../../wire/index.ts'
import type { BulkParams, PriorbookClient } from '../../client/index.ts'
import { downloadFile, type DownloadEvents } from '../download-file.ts'
import type { SavedManifest } from '../file-proof.ts'
import { present } from '../options.ts'
import { proofPath, writeProof, type UnsignedDay } from './proof-file.ts'
import { dayOf, indexTape } from './tape-index.ts'

/** A proof that was saved. */
export type SavedProof = {
  readonly path: string
  /** Pairs of a market and a day with a signed root, and without one. */
  readonly signed: number
  readonly unsigned: number
}

/** What the proof of a download needs. */
export type ProofOrder = {
  readonly client: PriorbookClient
  /** The downloaded file and its manifest. */
  readonly path: string
  readonly format: 'ndjson' | 'tape'
  readonly params: BulkParams
  readonly saved: SavedManifest
  readonly events: DownloadEvents
  readonly signal: AbortSignal
}

/**
 * Saves beside a downloaded file what proves its rows: the signed roots of its days with the leaves of its
 * markets and, where the file itself does not have the chunks, the chunks as a tape file.
 */
export async function saveProof(order: ProofOrder): Promise<SavedProof> {
  const { client, path, params, signal } = order
  // Only here: it needs zstd, which Node has since 22.15.
  const { createReplayPlatform } = await import('../../replay/replay-node.ts')
  const evidence = order.format === 'tape' ? undefined : await downloadEvidence(order)
  const { chunks } = await indexTape(evidence ?? path, createReplayPlatform(), signal)
  const wanted = new Map<string, { day: string; venue: BulkParams['venue']; market_id: string }>()
  for (const chunk of chunks) {
    if (!chunk.isSealed) continue
    const { venue, market } = chunk
    const one = { day: dayOf(chunk), venue, market_id: market }
    wanted.set(JSON.stringify(one), one)
  }
  const days: DayProofJson[] = []
  const unsigned: UnsignedDay[] = []
  for (const { day, ...market } of wanted.values()) {
    const { data, notices } = await client.proof(day, market, { signal })
    if (data !== null && data.market !== null) days.push(data)
    else unsigned.push({ day, ...market, reason: notices[0]?.code ?? 'unknown' })
  }
  const { depth, include_orderbook, number_format, time_format } = params
  await writeProof(proofPath(path), {
    url: client.url,
    style: { depth, include_orderbook, number_format, time_format },
    evidence: evidence === undefined ? null : basename(evidence),
    days,
    unsigned,
  })
  return { path: proofPath(path), signed: days.length, unsigned: unsigned.length }
}

/** Downloads the chunks of the same rows beside the file. */
async function downloadEvidence(order: ProofOrder): Promise<string> {
  const { client, path, params, saved, events, signal } = order
  const { venue, market_id, asset, series, window, dataset, metric, known_at } = params
  const scope = { market_id, asset, series, window, dataset, metric, known_at }
  const { start_time, end_time } = saved.manifest.range
  const evidence = `${path}.proof.tape`
  await downloadFile(
    client,
    {
      params: { venue, ...present(scope), start_time, end_time },
      format: 'tape',
      path: () => evidence,
      existing: 'replace',
      retries: 10,
      signal,
    },
    events,
  )
  return evidence
}
