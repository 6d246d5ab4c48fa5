import { createServer, type Server } from 'node:http'
import { isIP, type AddressInfo } from 'node:net'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { Metrics } from './metrics.ts'
import { toStatusPage, type ServiceStatus } from './status.ts'

/** Opens the operator's port: `/metrics` for Prometheus, `/status` as JSON, `/` as a page. */
export async function openOpsServer(
  listen: { readonly host: string; readonly port: number; readonly names: readonly string[] },
  status: () => ServiceStatus,
  metrics: Metrics,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const send = (type: string, body: string, code = 200): void => {
      response.writeHead(code, { ...HEADERS, 'content-type': type })
      response.end(request.method === 'HEAD' ? '' : body)
    }
    if (!isOwnHost(request.headers.host, [listen.host, ...listen.names])) {
      send('text/plain', 'the header Host names another host; see ops.names\n', 421)
      return
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send('text/plain', 'only GET\n', 405)
      return
    }
    switch (request.url) {
      case '/':
        send('text/html; charset=utf-8', toStatusPage(status()))
        return
      case '/status':
        send('application/json', JSON.stringify(status()))
        return
      case '/metrics':
        metrics.metrics().then(
          (text) => send(metrics.contentType, text),
          () => send('text/plain', 'the metrics could not be read\n', 500),
        )
        return
      default:
        send('text/plain', 'there are /, /status and /metrics\n', 404)
    }
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

// The page has its style inside, and runs no script.
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
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
