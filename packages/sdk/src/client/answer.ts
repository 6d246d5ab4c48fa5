import type { MetaJson, NoticeJson } from '../wire/index.ts'
import { PriorbookClientError } from './errors.ts'
import type { JsonAnswer } from './http.ts'

/** An answer: its data, its `meta`, its notices, and the id of the request in the server's log. */
export type Answer<Data> = {
  readonly data: Data
  readonly meta: MetaJson
  /** Always a list, unlike `meta.notice`. */
  readonly notices: readonly NoticeJson[]
  readonly requestId: string | undefined
}

/** A parsed envelope with its cursor. */
export type Envelope<Data> = Answer<Data> & { readonly nextCursor: string | null }

/** Parses a body as an envelope; throws `bad_answer` where it is not one. */
export function parseEnvelope<Data>({ body, requestId }: JsonAnswer): Envelope<Data> {
  const { data, meta, pagination } = (body ?? {}) as {
    readonly data?: Data
    readonly meta?: MetaJson
    readonly pagination?: { readonly next_cursor?: string | null }
  }
  if (data === undefined || meta === undefined || pagination === undefined) {
    throw new PriorbookClientError(
      'bad_answer',
      'the answer has no data, meta and pagination; is the address that of a Priorbook server?',
    )
  }
  return {
    data,
    meta,
    notices: noticesOf(meta),
    requestId,
    nextCursor: pagination.next_cursor ?? null,
  }
}

function noticesOf({ notice }: MetaJson): readonly NoticeJson[] {
  if (notice === undefined) return []
  return Array.isArray(notice) ? (notice as readonly NoticeJson[]) : [notice as NoticeJson]
}
