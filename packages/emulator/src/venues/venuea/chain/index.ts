import type {
  UpstreamAnswer,
  UpstreamFaults,
  UpstreamRequest,
  World,
  WorldEvent,
} from '../../../core/upstream.ts'
import type { Rounds } from '../rounds.ts'
import { Ledger } from './ledger.ts'
import { Matches } from './match.ts'
import { createRpc } from './rpc.ts'

/** The chain on which the venue's trades settle, with a JSON-RPC interface. */
export interface EmulatedChain {
  answer(request: UpstreamRequest): UpstreamAnswer
  onEvent(event: WorldEvent): void
}

/** Every how many trades one of a market that the venue does not list is settled too. */
const OTHERS = 8

/** Creates the chain; every trade of the venue's books is settled in its next block. */
export function createChain(world: World, rounds: Rounds, faults: UpstreamFaults): EmulatedChain {
  const matches = new Matches(world)
  const ledger = new Ledger(world, {
    reorganizes: () => faults.strike('chain_reorg', 'venuea')?.depth,
    loses: () => faults.strike('chain_gap', 'venuea') !== undefined,
  })
  let settled = 0
  return {
    answer: createRpc(ledger, {
      maxBlocks: () => faults.strike('chain_range', 'venuea')?.blocks,
      refuses: () => faults.strike('chain_limit', 'venuea') !== undefined,
      duplicates: () => faults.strike('chain_duplicate', 'venuea') !== undefined,
    }),
    onEvent(event) {
      if (event.kind !== 'book' || event.fill === undefined) return
      ledger.add(matches.settle(rounds.of(event.proposition), event.fill))
      if (++settled % OTHERS === 0) ledger.add(matches.settleOther())
    },
  }
}
