import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { compareNames } from './object-name.ts'
import { openS3Objects } from './s3-objects.ts'
import type { S3Place } from './s3-place.ts'
import type { S3Patience } from './s3-request.ts'
import type { ObjectStore } from './object-store.ts'
import { whyNotSigned } from './sigv4.testing.ts'

/** What goes wrong with one request. */
export type Fault =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly code?: string
      readonly region?: string
      readonly headers?: Readonly<Record<string, string>>
    }
  /** The connection ends in front of the request's work, after it, or in the middle of the answer. */
  | { readonly kind: 'lost' | 'lost-answer' | 'cut-body' }
  /** The answer does not come, or its second half does not. */
  | { readonly kind: 'silent' | 'stalled' }
  /** The answer to a read has a byte less, says another range, or is the whole object. */
  | { readonly kind: 'short' | 'other-range' | 'ignored-range' }
  /** A byte is another one on its way to the server, or in what the server keeps. */
  | { readonly kind: 'damaged-upload' | 'damaged-object' }
  /** The list ends early, without its connection ending early. */
  | { readonly kind: 'half-list' }

/** A server of one bucket in this process. It checks every signature. */
export type FakeS3 = {
  readonly place: S3Place
  /** What it keeps, by keys. */
  readonly objects: Map<string, Buffer>
  /** The requests so far, such as `GET /bucket/name`. */
  readonly requests: string[]
  /** The next requests fail like this, one each. */
  fail(...faults: readonly Fault[]): void
  /** A store over it that does not wait long. */
  open(more?: Partial<S3Place> & { readonly patience?: Partial<S3Patience> }): ObjectStore
}

/** The waits of tests. */
const QUICK: S3Patience = { attempts: 4, timeoutMs: 2000, firstWaitMs: 2, longestWaitMs: 20 }
const PAGE_OBJECTS = 3
// Tokens of lists begin with signs that XML and URLs encode.
const MARK = '<&+="/ '

/** Starts a server that ends with the test. */
export async function startFakeS3(): Promise<FakeS3> {
  const objects = new Map<string, Buffer>()
  const requests: string[] = []
  const faults: Fault[] = []
  const keys = { accessKeyId: 'KEY', secretAccessKey: 'secret/+=', sessionToken: 'token/+==' }
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const answer = answerOne(request, response, faults.shift())
    // A client that went away is no failure of the test.
    answer.catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  const place: S3Place = {
    bucket: 'bucket',
    prefix: 'some/prefix',
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-test-1',
    credentials: keys,
  }
  return {
    place,
    objects,
    requests,
    fail: (...given) => void faults.push(...given),
    open: (more) => openS3Objects({ ...place, patience: QUICK, ...more }),
  }

  async function answerOne(
    request: IncomingMessage,
    response: ServerResponse,
    fault: Fault | undefined,
  ): Promise<void> {
    const body = await buffer(request)
    if (fault?.kind === 'damaged-upload') body[0]! ^= 1
    if (fault?.kind === 'silent') return
    if (fault?.kind === 'lost') return void response.destroy()
    if (fault?.kind === 'status') {
      const { status, code = '', region, headers } = fault
      return refuse(response, status, code, { region, headers })
    }
    const refusal = whyNotSigned(request, body, keys, place.region)
    if (refusal !== undefined) {
      const isBad = /Mismatch|Malformed/.test(refusal)
      return refuse(response, isBad ? 400 : 403, refusal, { region: place.region })
    }
    const url = new URL(request.url!, place.endpoint)
    const [, bucket, ...parts] = url.pathname.split('/')
    if (bucket !== place.bucket) return refuse(response, 404, 'NoSuchBucket')
    const key = parts.map(decodeURIComponent).join('/')
    if (key === '') return list(url.searchParams, response, fault)
    switch (request.method) {
      case 'PUT':
        return put(key, body, request, response, fault)
      case 'DELETE':
        objects.delete(key)
        return void response.writeHead(204).end()
      default:
        return get(key, request, response, fault)
    }
  }

  function put(
    key: string,
    body: Buffer,
    { headers }: IncomingMessage,
    response: ServerResponse,
    fault: Fault | undefined,
  ): void {
    if (headers['content-length'] !== String(body.length)) {
      return refuse(response, 411, 'MissingContentLength')
    }
    const condition = headers['if-none-match']
    if (condition !== undefined && condition !== '*') return refuse(response, 400, 'InvalidRequest')
    if (condition === '*' && objects.has(key)) return refuse(response, 412, 'PreconditionFailed')
    if (fault?.kind === 'damaged-object') body[0]! ^= 1
    objects.set(key, body)
    if (fault?.kind === 'lost-answer' || fault?.kind === 'damaged-object') response.destroy()
    else response.writeHead(200, { etag: '"x"' }).end()
  }

  function get(
    key: string,
    { method, headers }: IncomingMessage,
    response: ServerResponse,
    fault: Fault | undefined,
  ): void {
    const object = objects.get(key)
    if (object === undefined) return refuse(response, 404, 'NoSuchKey')
    const asked = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '')
    if (asked === null || fault?.kind === 'ignored-range') {
      return send(response, 200, {}, object, fault, method === 'HEAD')
    }
    let [start, end] = [Number(asked[1]), Math.min(Number(asked[2]) + 1, object.length)]
    if (start >= object.length) {
      const range = { 'content-range': `bytes */${object.length}` }
      return refuse(response, 416, 'InvalidRange', { headers: range })
    }
    if (fault?.kind === 'short') end--
    if (fault?.kind === 'other-range') start = Math.max(0, start - 1)
    const range = { 'content-range': `bytes ${start}-${end - 1}/${object.length}` }
    send(response, 206, range, object.subarray(start, end), fault)
  }

  function list(query: URLSearchParams, response: ServerResponse, fault: Fault | undefined): void {
    const isAsked = query.get('list-type') === '2' && query.get('encoding-type') === 'url'
    if (!isAsked) return refuse(response, 400, 'InvalidArgument')
    const prefix = query.get('prefix') ?? ''
    const after = query.get('continuation-token')?.replace(MARK, '') ?? ''
    const found = [...objects.keys()]
      .filter((key) => key.startsWith(prefix) && compareNames(key, after) > 0)
      .sort(compareNames)
    const page = found.slice(0, PAGE_OBJECTS)
    const isCut = found.length > PAGE_OBJECTS
    const next = escapeXml(MARK + page.at(-1)!)
    const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<!-- a list -->
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><Prefix/>
<KeyCount>${page.length}</KeyCount><IsTruncated>${isCut}</IsTruncated><EncodingType>url</EncodingType>
${isCut ? `<NextContinuationToken>${next}</NextContinuationToken>` : ''}
${page.map((key) => `<Contents><Key>${encodeKey(key)}</Key><ETag>&quot;e&quot;</ETag><Owner><ID>Key</ID></Owner><Size>${objects.get(key)!.length}</Size></Contents>`).join('\n')}
</ListBucketResult>`
    const half = fault?.kind === 'half-list' ? xml.slice(0, xml.length / 2) : xml
    send(response, 200, { 'content-type': 'application/xml' }, Buffer.from(half), fault)
  }
}

function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  bytes: Buffer,
  fault: Fault | undefined,
  isHead = false,
): void {
  response.writeHead(status, { ...headers, 'content-length': bytes.length })
  if (isHead) response.end()
  else if (fault?.kind === 'cut-body' || fault?.kind === 'stalled') {
    response.write(bytes.subarray(0, bytes.length / 2), () => {
      if (fault.kind === 'cut-body') response.destroy()
    })
  } else response.end(bytes)
}

function refuse(
  response: ServerResponse,
  status: number,
  code: string,
  more: {
    readonly region?: string | undefined
    readonly headers?: Readonly<Record<string, string>> | undefined
  } = {},
): void {
  const region = more.region === undefined ? '' : `<Region>${more.region}</Region>`
  response.writeHead(status, more.headers)
  const words = `<Code>${code}</Code><Message>It&apos;s ${code}</Message>${region}`
  response.end(code === '' ? '' : `<?xml version="1.0"?><Error>${words}</Error>`)
}

function escapeXml(text: string): string {
  return text.replace(/[<>&"']/g, (sign) => `&#x${sign.charCodeAt(0).toString(16)};`)
}

/** As S3 does: like a form, with slashes. */
function encodeKey(key: string): string {
  return new URLSearchParams({ key }).toString().slice(4).replaceAll('%2F', '/')
}
