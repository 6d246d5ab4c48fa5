import type { GapReason } from '@priorbook/sdk/domain'
import type { CaptureRequest } from '../../capture/contract.ts'
import type { RpcAnswer } from './rpc-client.ts'

/** Why the chain could not be read further for now. */
export class ChainTrouble extends Error {
  readonly reason: GapReason
  readonly request: CaptureRequest

  constructor(reason: GapReason, request: CaptureRequest, why: string) {
    super(why)
    this.name = 'ChainTrouble'
    this.reason = reason
    this.request = request
  }
}

/** The trouble of a call without a result. */
export function toTrouble(
  answer: Exclude<RpcAnswer, { type: 'result' }>,
  request: CaptureRequest,
): ChainTrouble {
  if (answer.isLimit) return new ChainTrouble('quota', request, textOf(answer))
  const reason = answer.type === 'refused' ? 'venue_silent' : 'disconnected'
  return new ChainTrouble(reason, request, textOf(answer))
}

function textOf(answer: Exclude<RpcAnswer, { type: 'result' }>): string {
  if (answer.type === 'refused') return answer.message
  return answer.status === undefined ? answer.why : `${answer.status} ${answer.why}`
}
