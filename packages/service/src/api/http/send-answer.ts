import { PageBuffer } from '@priorbook/sdk/wire'
import { givePage } from './pages.ts'
import type { Answer, Notice } from '../route.ts'
import { hashBody } from './body-hash.ts'
import { chooseEncoding, isWorthPacking, pack, type Encoding } from './encoding.ts'
import { writeEnvelope } from './envelope.ts'
import type { Exchange } from './exchange.ts'
import { DATA_POLICY, FOR_EVER, PAGE_POLICY } from './headers.ts'
import { streamBody } from './stream-body.ts'

/** Sends what a handler answered; a promise only where something must be waited for. */
export function sendAnswer(
  exchange: Exchange,
  answer: Answer,
  notice: Notice | undefined,
): Promise<void> | undefined {
  switch (answer.kind) {
    case 'data': {
      const rowsEnd = answer.rows?.end ?? 0
      const bytes = writeEnvelope(answer, notice)
      const { isFinal = false, count, rows: page, madeOf } = answer
      const proof = madeOf === undefined ? undefined : proofOf(bytes, rowsEnd, madeOf)
      return sendWhole(exchange, JSON_TYPE, bytes, { isFinal, rows: count, page, proof })
    }
    case 'text': {
      if (answer.nextCursor !== undefined)
        exchange.headers.push('Link', linkTo(exchange, answer.nextCursor))
      const { body, contentType, isFinal = false } = answer
      if (!(body instanceof PageBuffer)) {
        const bytes = typeof body === 'string' ? Buffer.from(body) : body
        return sendWhole(exchange, contentType, bytes, { isFinal, rows: 0 })
      }
      const bytes = body.bytes.subarray(0, body.end)
      return sendWhole(exchange, contentType, bytes, { isFinal, rows: 0, page: body })
    }
    case 'stream':
      return sendStream(exchange, answer)
  }
}

const JSON_TYPE = 'application/json; charset=utf-8'

type Whole = {
  readonly isFinal: boolean
  readonly rows: number
  /** The page that the bytes lie in, if any. */
  readonly page?: PageBuffer | undefined
  /** Bytes that differ wherever the answer would; absent: the answer itself. */
  readonly proof?: Uint8Array | undefined
}

function sendWhole(
  exchange: Exchange,
  contentType: string,
  bytes: Uint8Array,
  whole: Whole,
): Promise<void> | undefined {
  const { isFinal, rows, page, proof } = whole
  const { headers: asked } = exchange.request
  const encoding: Encoding = isWorthPacking(bytes.length)
    ? chooseEncoding(asked['accept-encoding'])
    : 'identity'
  const headers = ['Content-Type', contentType]
  if (isFinal) {
    // Each encoding is a representation of its own.
    const tag = `"${hashBody(proof ?? bytes)}${encoding === 'identity' ? '' : `-${encoding}`}"`
    headers.push('ETag', tag, 'Cache-Control', FOR_EVER)
    if (isKnown(asked['if-none-match'], tag)) {
      exchange.send(304, headers.slice(2), undefined, 0)
      if (page !== undefined) givePage(page)
      return undefined
    }
  } else headers.push('Cache-Control', 'no-store')
  const isPage = contentType.startsWith('text/html')
  headers.push('Content-Security-Policy', isPage ? PAGE_POLICY : DATA_POLICY)
  if (encoding === 'identity') {
    headers.push('Content-Length', String(bytes.length))
    exchange.send(200, headers, bytes, rows, page)
    return undefined
  }
  return sendPacked(exchange, headers, bytes, encoding, whole)
}

async function sendPacked(
  exchange: Exchange,
  headers: string[],
  bytes: Uint8Array,
  encoding: Exclude<Encoding, 'identity'>,
  { rows, page }: Whole,
): Promise<void> {
  const packed = pack(bytes, encoding)
  const body = packed instanceof Promise ? await packed : packed
  if (page !== undefined) givePage(page)
  headers.push('Content-Encoding', encoding, 'Content-Length', String(body.length))
  exchange.send(200, headers, body, rows)
}

async function sendStream(
  exchange: Exchange,
  { contentType, headers = {}, body }: Extract<Answer, { kind: 'stream' }>,
): Promise<void> {
  const { request, response, verb } = exchange
  const own = Object.entries(headers).flat()
  // A file that says how long it is, or how it is packed, goes out as it is.
  const isFixed = Object.keys(headers).some((name) => /^content-(length|encoding)$/i.test(name))
  const encoding =
    isFixed || isPacked(contentType)
      ? 'identity'
      : chooseEncoding(request.headers['accept-encoding'])
  const all = ['Content-Type', contentType, 'Content-Security-Policy', DATA_POLICY, ...own]
  if (!Object.keys(headers).some((name) => /^cache-control$/i.test(name))) {
    all.push('Cache-Control', 'no-store')
  }
  if (encoding !== 'identity') all.push('Content-Encoding', encoding)
  exchange.head(200, all)
  if (verb === 'HEAD') {
    await body[Symbol.asyncIterator]().return?.()
    response.end()
    exchange.finished(200, 0, 0)
    return
  }
  // The first bytes of the head leave before a slow first piece is made.
  response.flushHeaders()
  let sent = { bytes: 0, isWhole: false }
  try {
    sent = await streamBody(response, body, encoding)
  } finally {
    // 499 as other servers write it: the client went away.
    exchange.finished(sent.isWhole ? 200 : 499, sent.bytes, 0)
  }
}

// What the rows are made of, and the envelope after them: a fiftieth of a page of books.
function proofOf(bytes: Uint8Array, rowsEnd: number, madeOf: string): Uint8Array {
  return Buffer.concat([Buffer.from(madeOf), bytes.subarray(rowsEnd - bytes.byteOffset)])
}

// Parquet and the tape are compressed inside.
function isPacked(contentType: string): boolean {
  return /parquet|tape|zstd|gzip/.test(contentType)
}

function isKnown(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  return header.split(',').some((one) => one.trim().replace(/^W\//, '') === tag)
}

// The same address with the cursor of the next page.
function linkTo({ request }: Exchange, cursor: string): string {
  const url = request.url ?? '/'
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const parts = mark === -1 ? [] : url.slice(mark + 1).split('&')
  const kept = parts.filter((part) => part !== '' && !part.startsWith('cursor='))
  const safe = [...kept, `cursor=${cursor}`].join('&').replaceAll(/[<>"]/g, encodeURIComponent)
  return `<${path.replaceAll(/[<>"]/g, encodeURIComponent)}?${safe}>; rel="next"`
}
