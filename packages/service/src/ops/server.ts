import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isIP, type AddressInfo } from 'node:net'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { LeaseState } from '../cluster/member.ts'
import type { StoreReader } from '../store/store.ts'
import { asHtml, asText, onlyBy, type OpsAnswer } from './answer.ts'
import { toGapsPage } from './gaps-page.ts'
import type { KeyRoutes } from './key-routes.ts'
import type { Metrics } from './metrics.ts'
import { countOpenGaps } from './open-gaps.ts'
import { toOverview } from './overview.ts'
import { parseId, readRaw, toMessagePage, toQuarantinePage } from './quarantine-page.ts'
import type { ServiceStatus } from './status.ts'

/** What the operators' port shows. */
export type OpsSources = {
  readonly status: () => ServiceStatus
  /** The tape; undefined while there is none to read. */
  readonly store: () => StoreReader | undefined
  /** Who may write a shared tape; absent where the tape is not shared. */
  readonly leases?: (() => Promise<LeaseState>) | undefined
  readonly metrics: Metrics
  /** The pages of keys, or why there are none. */
  readonly keys: KeyRoutes | string
}

/** Opens the operators' port: pages, `/status` as JSON and `/metrics` for Prometheus. */
export async function openOpsServer(
  listen: { readonly host: string; readonly port: number; readonly names: readonly string[] },
  sources: OpsSources,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const names = [listen.host, ...listen.names]
  const server = createServer((request, response) => {
    const answering = isOwnHost(request.headers.host, names)
      ? answer(request, sources)
      : asText(421, 'the header Host names another host; see ops.names')
    Promise.resolve(answering)
      .catch((error: unknown) => asText(500, error instanceof Error ? error.message : ''))
      .then((found) => send(request, response, found))
      // The client is gone.
      .catch(() => response.destroy())
  })
  await listening(server, listen)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${listen.host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(request: IncomingMessage, sources: OpsSources): Promise<OpsAnswer> {
  const { method = '', url: asked = '' } = request
  const url = URL.parse(asked, 'http://ops')
  if (url === null || !asked.startsWith('/')) return NOT_FOUND
  const { pathname } = url
  if (pathname === '/keys' || pathname.startsWith('/keys/')) {
    if (typeof sources.keys === 'string') return asText(404, sources.keys)
    if (!['GET', 'HEAD', 'POST'].includes(method)) return onlyBy('GET, HEAD, POST')
    return { ...(await sources.keys.answer(request, url)), hasForms: true }
  }
  if (method !== 'GET' && method !== 'HEAD') return onlyBy('GET, HEAD')
  switch (pathname) {
    case '/':
      return asHtml(await overviewOf(sources))
    case '/status':
      return { status: 200, type: 'application/json', body: JSON.stringify(sources.status()) }
    case '/metrics': {
      const { contentType: type } = sources.metrics
      return { status: 200, type, body: await sources.metrics.metrics() }
    }
    default:
      return readTape(sources.store(), url)
  }
}

const NOT_FOUND = asText(404, 'there are /, /gaps, /quarantine, /keys, /status and /metrics')

// A tape that cannot be read must not hide the rest of the page.
async function overviewOf({ status, store, leases }: OpsSources): Promise<string> {
  const why = (error: unknown): string => (error instanceof Error ? error.message : String(error))
  const tape = store()
  const gaps = tape === undefined ? NO_TAPE : await countOpenGaps(tape).catch(why)
  return toOverview({ status: status(), gaps, leases: await leases?.().catch(why) })
}

const NO_TAPE = 'There is no tape to read now.'

async function readTape(store: StoreReader | undefined, url: URL): Promise<OpsAnswer> {
  const { pathname, searchParams } = url
  const [, id, raw] = /^\/quarantine\/(\d+)(\/raw)?$/.exec(pathname) ?? []
  if (!['/gaps', '/quarantine'].includes(pathname) && id === undefined) return NOT_FOUND
  if (store === undefined) return asText(503, NO_TAPE)
  if (pathname === '/gaps') return asHtml(await toGapsPage(store, searchParams))
  if (pathname === '/quarantine') return asHtml(await toQuarantinePage(store, searchParams))
  const number = parseId(id!)
  const missing = asText(404, 'there is no such message')
  if (number === undefined) return missing
  if (raw === undefined) {
    const page = await toMessagePage(store, number)
    return page === undefined ? missing : asHtml(page)
  }
  const body = await readRaw(store, number)
  if (body === undefined) return missing
  const headers = { 'content-disposition': `attachment; filename="quarantine-${number}.bin"` }
  return { status: 200, type: 'application/octet-stream', body, headers }
}

function send(request: IncomingMessage, response: ServerResponse, found: OpsAnswer): void {
  const { status, type, body, headers, hasForms = false } = found
  // What was not read of a request must not be taken for the next one.
  const ending = request.complete ? {} : { connection: 'close' }
  const policy = { 'content-security-policy': `${POLICY} ${hasForms ? "'self'" : "'none'"}` }
  response.writeHead(status, { ...HEADERS, ...policy, 'content-type': type, ...headers, ...ending })
  response.end(request.method === 'HEAD' ? '' : body)
}

// Pages have their style inside and run no script.
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action"
const HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/**
 * Whether a request names this host by an address, by `localhost` or by a configured name. A page of another site
 * that lets its own name point here is refused: a browser sends that name.
 */
function isOwnHost(header: string | undefined, names: readonly string[]): boolean {
  const match = /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(header ?? '')
  if (match === null) return false
  const name = match[1]!
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
  return isIP(name) !== 0 || name === 'localhost' || names.some((own) => own.toLowerCase() === name)
}

function listening(server: Server, at: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const where = `${at.host}:${at.port}`
      const why = cause.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${cause.message})`
      const hint = 'set ops.port (or --ops-port) to another one, 0 for any'
      reject(new PriorbookError('invalid_config', `${where} ${why}: ${hint}`, { cause }))
    })
    server.listen(at.port, at.host, () => {
      server.removeAllListeners('error')
      resolve()
    })
  })
}
