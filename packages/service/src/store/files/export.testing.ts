import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { toGapJson, toMarketJson } from '@priorbook/sdk/wire'
import type { BulkScope } from '../../api/bulk/scope.ts'
import { ContainerWriter } from '../../api/bulk/tape-container.ts'
import { TapeStream } from '../../api/bulk/tape.ts'
import { INSTRUMENTS, METRICS } from '../store-script.testing.ts'
import type { Store } from '../store.ts'

const DATASETS = [
  { dataset: 'books' },
  { dataset: 'trades' },
  ...METRICS.map((metric) => ({ dataset: 'samples', metric })),
]

/** Writes everything of a scripted store into containers, one a venue and dataset, in spans. */
export async function exportScripted(
  store: Store,
  folder: string,
  spans: readonly { start: number; end: number }[],
): Promise<void> {
  for (const [place, span] of spans.entries()) {
    for (const venue of VENUE_IDS) {
      for (const what of DATASETS) {
        const scope = { venue, ...what, ...span, windowStart: 0 } as unknown as BulkScope
        const container = new ContainerWriter()
        const range = { start_time: null, end_time: null }
        const parts = [...container.begin({ venue, ...what, range })]
        for (const gap of await store.gaps({ venue })) {
          parts.push(...container.json('gap', toGapJson(gap)))
        }
        const own = INSTRUMENTS.filter((instrument) => instrument.venue === venue)
        for (const market of new Set(own.map((instrument) => instrument.market))) {
          const state = await store.market(venue, market)
          if (state !== undefined) parts.push(...container.json('market', toMarketJson(state)))
        }
        for (const { market, key } of own) {
          const stream = new TapeStream(store, scope, platform, { market, key })
          for await (const piece of stream.pieces()) {
            if (piece.kind === 'gap') continue
            parts.push(...container.frame(piece.kind, piece.bytes))
          }
        }
        parts.push(...container.end({}))
        const name = [place, venue, ...Object.values(what)].join('_')
        writeFileSync(join(folder, `${name}.pbx`), Buffer.concat(parts))
      }
    }
  }
}

const platform = createNodePlatform()
