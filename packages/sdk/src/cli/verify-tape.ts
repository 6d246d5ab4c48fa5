import { createReadStream } from 'node:fs'
import type { ManifestJson } from '../client/index.ts'
import { PriorbookError } from '../domain/index.ts'
import { FrameReader, type ReplayEvent, type ReplayPlatform } from '../replay/index.ts'
import { chunkHash, openChunk } from '../tape/index.ts'
import type { Finding, RowChecks } from './row-checks.ts'

/**
 * Checks a tape file: its frames and hash, every row, and, with the receipt of its manifest, that the
 * chunks of every instrument form one chain with the head of the receipt.
 */
export async function verifyTape(
  path: string,
  rows: RowChecks,
  findings: Finding[],
  receipt: ManifestJson['receipt'] | undefined,
  signal: AbortSignal,
): Promise<void> {
  // Only here: it needs zstd, which Node has since 22.15.
  const { createReplayPlatform, replayFiles } = await import('../replay/replay-node.ts')
  try {
    for await (const batch of replayFiles([path], { signal, withHistory: true })) {
      for (const event of batch) addEvent(rows, event)
    }
    findings.push({ check: 'container', isGood: true, detail: 'frames, chunks and hash hold' })
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
    findings.push({ check: 'container', isGood: false, detail: error.message })
    return
  }
  // Receipts of version 0.1 have no instruments.
  const instruments: Instruments | undefined = receipt?.instruments
  if (instruments === undefined) return
  const chains = await readChains(path, createReplayPlatform(), signal)
  findings.push(compareHeads(instruments, chains))
}

type Instruments = NonNullable<ManifestJson['receipt']>['instruments']

function addEvent(rows: RowChecks, event: ReplayEvent): void {
  switch (event.kind) {
    case 'book': {
      const { instrument, sequence, at, ladder } = event
      const { venue, key, marketId } = instrument
      const id = `${venue}:${key}:${sequence}`
      rows.addLadder(id, marketId, sequence, at, ladder.one, ladder.bids(), ladder.asks())
      break
    }
    case 'trade':
    case 'sample': {
      const { instrument, sequence, at } = event
      const word = event.kind === 'trade' ? 'trade' : event.metric
      const id = `${instrument.venue}:${instrument.key}/${word}:${sequence}`
      const row = { id, venue: instrument.venue, market_id: instrument.marketId }
      rows.add({ ...row, sequence, received_time: at })
      break
    }
    case 'reference': {
      const { venue, feed, asset, sequence, at } = event
      const id = `${venue}:reference/${feed}/${asset}/price:${sequence}`
      rows.add({ id, venue, market_id: asset, sequence, received_time: at })
      break
    }
    case 'market':
    case 'gap':
      break
  }
}

/** A sealed chunk of a file: its rows, its hash and that of the chunk before it. */
type Link = {
  readonly first: number
  readonly count: number
  readonly hash: string
  readonly previous: string
}

/** Reads the sealed chunks of a file, by the key that receipts give their instrument. */
async function readChains(
  path: string,
  platform: ReplayPlatform,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly Link[]>> {
  const chains = new Map<string, Link[]>()
  const frames = new FrameReader(path, platform)
  for await (const block of createReadStream(path, { highWaterMark: 1 << 20, signal })) {
    for (const { kind, payload } of frames.feed(block as Buffer)) {
      if (kind !== 'C') continue
      const chunk = openChunk(payload, platform)
      const { key, metric, first, count, previousHash } = chunk.header
      const word = chunk.header.kind === 'sample' ? metric : chunk.header.kind
      const name = word === 'book' ? key : `${key}/${word}`
      const links = chains.get(name) ?? []
      links.push({
        first,
        count,
        hash: hex(chunkHash(chunk, platform)),
        previous: hex(previousHash),
      })
      chains.set(name, links)
    }
  }
  return chains
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function compareHeads(
  instruments: Instruments,
  chains: ReadonlyMap<string, readonly Link[]>,
): Finding {
  let proved = 0
  for (const { key, head } of instruments) {
    // A plan may allow only a part of the chunk, and a part has no hash of the chain.
    const links = chains.get(key)?.toSorted((left, right) => left.first - right.first)
    if (head === null || links === undefined) continue
    if (!links.some(({ hash }) => hash === head)) {
      return bad(`no chunk of ${key} has the hash ${head}`)
    }
    for (const [index, link] of links.entries()) {
      const before = links[index - 1]
      // Chunks that are damaged at the server are missing, and the file says so with a gap.
      if (before === undefined || before.first + before.count !== link.first) continue
      if (link.previous !== before.hash) {
        return bad(`row ${link.first} of ${key} does not continue the chain of its chunks`)
      }
    }
    proved++
  }
  const detail = `the chunks of ${proved} of ${instruments.length} instruments lead to their heads`
  return { check: 'heads', isGood: true, detail }
}

function bad(detail: string): Finding {
  return { check: 'heads', isGood: false, detail }
}
