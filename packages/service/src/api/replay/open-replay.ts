import type { StreamRequest } from '@priorbook/sdk/wire'
import type { ApiContext, Grant } from '../route.ts'
import { Player } from './player.ts'
import { MONOTONIC, type Replay, type ReplayClock, type ReplayOutput } from './replay.ts'
import { parseReplay } from './request.ts'
import { resolveScope } from './scope.ts'

/**
 * Begins a replay: markets, range and rows are those known now. Throws `Problem` for what cannot be
 * replayed; everything later is told to the client as messages.
 */
export async function openReplay(
  context: ApiContext,
  grant: Grant,
  request: Extract<StreamRequest, { op: 'replay' }>,
  out: ReplayOutput,
  clock: ReplayClock = MONOTONIC,
): Promise<Replay> {
  const order = parseReplay(request)
  const scope = await resolveScope(context, grant, order)
  return new Player(context.store, scope, order, out, clock)
}
