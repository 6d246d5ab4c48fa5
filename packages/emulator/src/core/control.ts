import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { FaultBox } from '../faults/fault-box.ts'
import { parseInjection } from '../faults/fault.ts'

/** The port on which faults are injected by hand or by a test of another process. */
export interface Control {
  readonly origin: string
  close(): Promise<void>
}

/** The parts that the control port reads from. */
export type ControlParts = {
  readonly port: number
  readonly faults: FaultBox
  readonly addresses: unknown
  quotaPeaks(): unknown
}

/**
 * Opens it: `POST /faults` begins one, `DELETE /faults/ID` ends it, `GET /faults` lists them,
 * `GET /quotas` and `GET /addresses` return quota peaks and addresses.
 */
export async function startControl(parts: ControlParts): Promise<Control> {
  const { faults } = parts
  const server = createServer((request, response) => {
    void answer(request).then(([status, value]) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(`${JSON.stringify(value)}\n`)
    })
  })

  async function answer(request: IncomingMessage): Promise<[number, unknown]> {
    const route = `${request.method} ${request.url}`
    if (route === 'GET /faults') return [200, faults.list()]
    if (route === 'GET /quotas') return [200, parts.quotaPeaks()]
    if (route === 'GET /addresses') return [200, parts.addresses]
    if (route === 'POST /faults') {
      try {
        const text = await readText(request)
        return [201, faults.begin(parseInjection(parseJson(text)))]
      } catch (error) {
        if (!(error instanceof PriorbookError)) throw error
        return [400, { code: error.code, message: error.message }]
      }
    }
    const id = /^DELETE \/faults\/(\w+)$/.exec(route)?.[1]
    if (id !== undefined) return [faults.end(id) ? 200 : 404, { id }]
    return [
      404,
      { message: 'POST /faults, GET /faults, DELETE /faults/ID, GET /quotas, GET /addresses' },
    ]
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      reject(new PriorbookError('invalid_argument', `control port: ${cause.message}`, { cause }))
    })
    server.listen(parts.port, '127.0.0.1', resolve)
  })
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts).toString()
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new PriorbookError('invalid_argument', 'the body is no JSON', { cause })
  }
}
