import { setTimeout as pause } from 'node:timers/promises'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { S3Place } from './s3-place.ts'
import { toS3Refusal } from './s3-refusal.ts'
import { createS3Send, type S3Answer, type S3Call } from './s3-send.ts'
import { parseS3Failure } from './s3-xml.ts'

/** How patient requests are. */
export type S3Patience = {
  /** How often a request is sent at most. */
  readonly attempts: number
  /** How long an attempt waits for a connection, the answer, or more of it. */
  readonly timeoutMs: number
  /** The wait before the second attempt, doubled for every further one and shortened at random. */
  readonly firstWaitMs: number
  /** No wait is longer, whatever the server says in Retry-After. */
  readonly longestWaitMs: number
}

/** What a sender makes of an answer: a value, or a reason to ask again. */
export type S3Verdict<T> = { readonly value: T } | { readonly again: string }

/**
 * Sends a request until `judge` accepts an answer; throws listed errors only. `isRepeated` where an attempt
 * before may have been carried out, although its answer was lost.
 */
export type S3Request = <T>(
  call: S3Call,
  judge: (answer: S3Answer, isRepeated: boolean) => S3Verdict<T> | Promise<S3Verdict<T>>,
) => Promise<T>

// Failures that a later attempt may not have although their status is none of those.
const PASSING = new Set([
  'RequestTimeout',
  'BadDigest',
  'XAmzContentSHA256Mismatch',
  'IncompleteBody',
  'OperationAborted',
])

/** Creates the sender of requests to one bucket. */
export function createS3Request(place: S3Place, patience: S3Patience): S3Request {
  const send = createS3Send(place, patience.timeoutMs)
  const { attempts, firstWaitMs, longestWaitMs } = patience
  return async (call, judge) => {
    let isRepeated = false
    for (let attempt = 1; ; attempt++) {
      let why: string
      let askedMs = 0
      try {
        const answer = await send(call)
        const { status, headers, bytes } = answer
        const failure = parseS3Failure(status < 300 ? new Uint8Array() : bytes)
        if (mayPass(status, failure.code)) {
          why = `${status} ${failure.code}`
          askedMs = retryAfterMs(headers.get('retry-after'))
          isRepeated ||= status >= 500
        } else if (call.expects?.includes(status) === false || failure.code === 'NoSuchBucket') {
          const region = failure.region || (headers.get('x-amz-bucket-region') ?? '').slice(0, 40)
          throw toS3Refusal(place, status, { ...failure, region })
        } else {
          const verdict = await judge(answer, isRepeated)
          if ('value' in verdict) return verdict.value
          why = verdict.again
        }
      } catch (error) {
        if (error instanceof PriorbookError) throw error
        why = describe(error)
        isRepeated = true
      }
      if (attempt >= attempts) throw toUnavailable(place, call, attempt, why)
      const jitter = Math.random() * firstWaitMs * 2 ** (attempt - 1)
      await pause(Math.min(Math.max(jitter, askedMs), longestWaitMs))
    }
  }
}

function mayPass(status: number, code: string): boolean {
  const isOverloaded = status >= 500 && status !== 501 && status !== 507
  return isOverloaded || status === 408 || status === 429 || PASSING.has(code)
}

function toUnavailable(
  { endpoint }: S3Place,
  { method, path }: S3Call,
  attempts: number,
  why: string,
): PriorbookError {
  const detail = `${method} ${path} at ${endpoint} failed ${attempts} times, last with: ${why}`
  return new PriorbookError('objects_unavailable', detail)
}

/** Seconds or a date; 0 for anything else. */
function retryAfterMs(text: string | null): number {
  if (text === null) return 0
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return ms > 0 ? ms : 0
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error.message}${cause}`.slice(0, 200)
}
