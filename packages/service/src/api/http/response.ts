import { hash } from 'node:crypto'
import { PageBuffer, Problem, SCHEMA_VERSION } from '@priorbook/sdk/wire'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import { JsonText, ROWS_AT, type Answer, type Notice } from '../route.ts'
import { chooseByteRange, tagOf, type ByteRange } from './byte-range.ts'
import { besideHeaders, noticeList, withCommon } from './beside.ts'
import { DATA_POLICY, FOR_EVER, PAGE_POLICY } from './headers.ts'
import {
  chooseEncoding,
  compress,
  createCompressor,
  isWorthCompressing,
  type Encoding,
} from './negotiate.ts'
import type { PendingRequest } from './request.ts'
import { isKnown } from './response-tag.ts'

/** Sends the answer of a handler; gives a promise only where something must be awaited. */
export function sendAnswer(
  pending: PendingRequest,
  answer: Answer,
  notice: Notice | undefined,
): Promise<void> | undefined {
  switch (answer.kind) {
    case 'data': {
      const rowsEnd = answer.rows?.end ?? 0
      const bytes = writeEnvelope(answer, notice)
      const { isFinal = false, count, madeOf } = answer
      const proof = madeOf === undefined ? undefined : proofOf(bytes, rowsEnd, madeOf)
      return sendWhole(pending, JSON_TYPE, bytes, { isFinal, rows: count, proof })
    }
    case 'text': {
      const { body, contentType, isFinal = false, nextCursor, beside } = answer
      pending.headers.push(...besideHeaders(pending.request.url, beside, nextCursor, notice))
      return sendWhole(pending, contentType, toBytes(body), { isFinal, rows: 0 })
    }
    case 'stream':
      return sendStream(pending, answer)
  }
}

const JSON_TYPE = 'application/json; charset=utf-8'

function toBytes(body: Uint8Array | string | PageBuffer): Uint8Array {
  if (body instanceof PageBuffer) return body.bytes.subarray(0, body.end)
  return typeof body === 'string' ? Buffer.from(body) : body
}

type Whole = {
  readonly isFinal: boolean
  readonly rows: number
  /** Bytes that differ wherever the answer would; absent: the answer itself. */
  readonly proof?: Uint8Array | undefined
}

function sendWhole(
  pending: PendingRequest,
  contentType: string,
  bytes: Uint8Array,
  { isFinal, rows, proof }: Whole,
): Promise<void> | undefined {
  const { headers: asked } = pending.request
  const encoding: Encoding = isWorthCompressing(bytes.length)
    ? chooseEncoding(asked['accept-encoding'])
    : 'identity'
  const headers = ['Content-Type', contentType]
  if (isFinal) {
    // Each encoding is a representation with a tag of its own.
    const tag = `"${hashOf(proof ?? bytes)}${encoding === 'identity' ? '' : `-${encoding}`}"`
    headers.push('ETag', tag, 'Cache-Control', FOR_EVER)
    if (isKnown(asked['if-none-match'], tag)) {
      pending.send(304, headers.slice(2), undefined, 0)
      return undefined
    }
  } else headers.push('Cache-Control', 'no-store')
  const isPage = contentType.startsWith('text/html')
  headers.push('Content-Security-Policy', isPage ? PAGE_POLICY : DATA_POLICY)
  if (encoding === 'identity') {
    headers.push('Content-Length', String(bytes.length))
    pending.send(200, headers, bytes, rows)
    return undefined
  }
  return sendCompressed(pending, headers, bytes, encoding, rows)
}

async function sendCompressed(
  pending: PendingRequest,
  headers: string[],
  bytes: Uint8Array,
  encoding: Exclude<Encoding, 'identity'>,
  rows: number,
): Promise<void> {
  const compressed = compress(bytes, encoding)
  const body = compressed instanceof Promise ? await compressed : compressed
  headers.push('Content-Encoding', encoding, 'Content-Length', String(body.length))
  pending.send(200, headers, body, rows)
}

async function sendStream(
  pending: PendingRequest,
  { contentType, headers = {}, body, finished }: StreamAnswer,
): Promise<void> {
  const { request, method } = pending
  const own = Object.entries(headers).flat()
  const range =
    finished === undefined
      ? undefined
      : await chooseByteRange(finished, method, request.headers).catch((error: unknown) => {
          discard(body)
          throw error
        })
  // A file whose length or encoding is given by the handler is sent as it is.
  const isFixed = Object.keys(headers).some((name) => /^content-(length|encoding)$/i.test(name))
  const encoding =
    isFixed || isCompressed(contentType) || range?.status === 206
      ? 'identity'
      : chooseEncoding(request.headers['accept-encoding'])
  const all = ['Content-Type', contentType, 'Content-Security-Policy', DATA_POLICY, ...own]
  if (!Object.keys(headers).some((name) => /^cache-control$/i.test(name))) {
    all.push('Cache-Control', 'no-store')
  }
  if (encoding !== 'identity') all.push('Content-Encoding', encoding)
  if (finished === undefined || range === undefined)
    return sendBody(pending, 200, all, body, encoding)
  all.push(...rangeHeaders(range, encoding))
  if (range.status === 200) {
    const { facts, kept } = range
    if (encoding === 'identity' && facts !== undefined) {
      all.push('Content-Length', String(facts.bytes))
    }
    if (kept === undefined || method === 'HEAD') {
      return sendBody(pending, 200, all, body, encoding)
    }
    discard(body)
    return sendBody(pending, 200, all, kept.part(0, kept.facts.bytes), encoding)
  }
  discard(body)
  if (range.status === 206) {
    return sendBody(pending, 206, all, range.kept.part(range.from, range.to), encoding)
  }
  if (range.status === 304) {
    pending.send(304, rangeHeaders(range, encoding), undefined, 0)
    return
  }
  const { bytes } = range.facts
  pending.headers.push('Content-Range', `bytes */${bytes}`)
  throw new Problem('range_not_satisfiable', `the file has ${bytes} bytes`)
}

// A body that nobody reads: its work has begun, and must end.
function discard(body: AsyncIterable<Uint8Array>): void {
  void body[Symbol.asyncIterator]().return?.()
}

type StreamAnswer = Extract<Answer, { kind: 'stream' }>

function rangeHeaders(range: ByteRange, encoding: Encoding): readonly string[] {
  const headers = ['Accept-Ranges', 'bytes']
  if (range.facts === undefined) return headers
  const { bytes } = range.facts
  // Each encoding is a representation with a tag of its own; lengths and parts are those of the file itself.
  const tag = tagOf(range.facts)
  headers.push('ETag', encoding === 'identity' ? tag : `${tag.slice(0, -1)}-${encoding}"`)
  if (range.status === 206) {
    const { from, to } = range
    headers.push('Content-Range', `bytes ${from}-${to - 1}/${bytes}`)
    headers.push('Content-Length', String(to - from))
  }
  return headers
}

async function sendBody(
  pending: PendingRequest,
  status: 200 | 206,
  headers: readonly string[],
  body: AsyncIterable<Uint8Array>,
  encoding: Encoding,
): Promise<void> {
  const { response } = pending
  pending.head(status, headers)
  if (pending.method === 'HEAD') {
    discard(body)
    response.end()
    pending.finished(status, 0, 0)
    return
  }
  // The head is sent before the first piece is made, which may take long.
  response.flushHeaders()
  let sent: Streamed = { bytes: 0, isWhole: false }
  try {
    sent = await streamBody(pending, body, encoding)
  } finally {
    // 499, as other servers log it: the client closed the connection.
    pending.finished(sent.isWhole ? status : 499, sent.bytes, 0)
  }
}

/** How often the key of a running download is checked: one that is revoked ends it. */
const RECHECK_MS = 500

type Streamed = { readonly bytes: number; readonly isWhole: boolean }

/**
 * Sends pieces as fast as the client reads. A piece is pulled when the one before has been written, so
 * its bytes may be a view that the next piece overwrites. Every piece waits for the next turn of the
 * event loop: without that, one download makes small pages wait 143–804 ms.
 */
async function streamBody(
  pending: PendingRequest,
  body: AsyncIterable<Uint8Array>,
  encoding: Encoding,
): Promise<Streamed> {
  const { response } = pending
  const compressor = encoding === 'identity' ? undefined : createCompressor(encoding)
  const out = compressor ?? response
  let isGone = response.destroyed
  let wake = (): void => {}
  const onEnd = (): void => {
    isGone = true
    wake()
  }
  response.once('close', onEnd)
  response.once('finish', onEnd)
  compressor?.pipe(response)
  compressor?.once('error', () => response.destroy())
  let bytes = 0
  let checkedMs = pending.startedMs
  try {
    for await (const piece of body) {
      if (isGone) return { bytes, isWhole: false }
      const nowMs = performance.now()
      if (nowMs - checkedMs >= RECHECK_MS) {
        pending.recheck?.()
        checkedMs = nowMs
      }
      await new Promise<void>((resolve) => {
        wake = resolve
        out.write(piece, () => resolve())
      })
      bytes += piece.length
      await yieldToEventLoop()
    }
    if (isGone) return { bytes, isWhole: false }
    await new Promise<void>((resolve) => {
      wake = resolve
      out.end()
    })
    return { bytes, isWhole: response.writableFinished }
  } catch (error) {
    // The status is already sent: only a cut connection can tell the client that the rest is missing.
    response.destroy()
    throw error
  } finally {
    compressor?.destroy()
  }
}

// The hashes of the content of the rows and the envelope after them: a fiftieth of a page of books.
function proofOf(bytes: Uint8Array, rowsEnd: number, madeOf: string): Uint8Array {
  return Buffer.concat([Buffer.from(madeOf), bytes.subarray(rowsEnd - bytes.byteOffset)])
}

function hashOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex').slice(0, 32)
}

// Parquet and the tape are compressed inside.
function isCompressed(contentType: string): boolean {
  return /parquet|tape|zstd|gzip/.test(contentType)
}

type DataAnswer = Extract<Answer, { kind: 'data' }>

const OPEN_LIST = Buffer.from('{"data":[')
const OPEN_ONE = Buffer.from('{"data":')

/** Writes the envelope of an answer; rows get it in place, in their page. */
export function writeEnvelope(answer: DataAnswer, notice: Notice | undefined): Uint8Array {
  const { rows, isOne = false } = answer
  const tail = tailOf(answer, notice)
  if (rows === undefined) {
    const data = answer.data === undefined ? 'null' : json(answer.data)
    return Buffer.from(`{"data":${data}${tail}`)
  }
  const open = isOne ? OPEN_ONE : OPEN_LIST
  const start = ROWS_AT - open.length
  rows.bytes.set(open, start)
  rows.appendText(isOne ? tail : `]${tail}`)
  return rows.bytes.subarray(start, rows.end)
}

function tailOf({ meta, count, nextCursor }: DataAnswer, notice: Notice | undefined): string {
  const { range, gaps, market, notice: own } = meta
  let text = `,"meta":{"count":${count},"range":${json(range ?? null)}`
  text += `,"gaps":${gaps === undefined || gaps.length === 0 ? '[]' : json(gaps)}`
  text += `,"market":${json(market ?? null)},"schema_version":"${SCHEMA_VERSION}"`
  for (const name in meta) {
    if (name === 'range' || name === 'gaps' || name === 'market' || name === 'notice') continue
    if (meta[name] !== undefined) text += `,${JSON.stringify(name)}:${json(meta[name])}`
  }
  const all = withCommon(own, notice)
  if (all === undefined) text += ',"notices":[]'
  else text += `,"notices":${json(noticeList(all))},"notice":${json(all)}`
  const next = nextCursor === undefined ? 'null' : JSON.stringify(nextCursor)
  return `${text}},"pagination":{"next_cursor":${next},"has_more":${nextCursor !== undefined}}}`
}

function json(value: unknown): string {
  return value instanceof JsonText ? value.text : JSON.stringify(value)
}
