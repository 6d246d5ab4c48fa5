import type { Gap } from '@priorbook/sdk/domain'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { toGapJson, toMarketJson } from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import type { ApiContext } from '../route.ts'
import { describeScope } from './describe.ts'
import type { BulkScope } from './scope.ts'
import { keysOf } from './sources.ts'
import { Pieces, turn, type FileObserver } from './stream.ts'
import { Tally } from './tally.ts'
import { ContainerWriter } from './tape-container.ts'
import { TapeStream, type TapePiece } from './tape-stream.ts'
import { gapsOf, venueGapsOf, walkMarkets } from './walk.ts'

/**
 * A download as stored chunks in a container (docs/formats/export.md). Chunks that meet the range come
 * whole, so that their hashes and their chain hold; a reader leaves out the rows beyond the range.
 */
export async function* streamTape(
  context: ApiContext,
  scope: BulkScope,
  signal: AbortSignal,
  observer: FileObserver = {},
): AsyncGenerator<Uint8Array> {
  const container = new ContainerWriter()
  const pieces = new Pieces()
  const tally = new Tally(scope)
  function* send(frames: readonly Uint8Array[]): Generator<Uint8Array> {
    for (const frame of frames) yield* pieces.add(frame)
  }
  // Rows that are in no chunk yet do not say where they come from; the file does.
  const { notice } = context
  const named =
    notice === undefined ? {} : { notice: { code: notice.code, message: notice.message } }
  yield* send(container.begin({ ...describeScope(scope), ...named }))
  if (scope.start < scope.end) {
    const venueGaps = await venueGapsOf(context, scope)
    for await (const market of walkMarkets(context, scope)) {
      let isNamed = false
      for await (const piece of exportMarket(context, scope, market, venueGaps, tally)) {
        if (!isNamed) {
          tally.add({ kind: 'market', market })
          yield* send(container.json('market', toMarketJson(market)))
          isNamed = true
        }
        if (piece.kind === 'gap') {
          tally.add(piece)
          observer.onGap?.(piece.gap)
          yield* send(container.json('gap', toGapJson(piece.gap)))
        } else yield* send(container.frame(piece.kind, piece.bytes))
        await turn()
        if (signal.aborted) return
      }
    }
  }
  const receipt = tally.finish(tally.rows === 0 ? await observer.explain?.() : [])
  yield* send(container.end(receipt))
  yield* pieces.rest()
  observer.onReceipt?.(receipt)
}

async function* exportMarket(
  context: ApiContext,
  scope: BulkScope,
  market: MarketState,
  venueGaps: readonly Gap[],
  tally: Tally,
): AsyncGenerator<TapePiece> {
  const { record } = market
  for (const gap of await gapsOf(context, scope, market, venueGaps)) yield { kind: 'gap', gap }
  for (const key of await keysOf(context, record, scope.dataset, scope.metric)) {
    const place = { market: record.marketId, key }
    const stream = new TapeStream(context.store, scope, platform, place)
    yield* stream.pieces()
    if (stream.facts !== undefined) tally.addStream(key, stream.facts)
  }
}

const platform = createNodePlatform()
