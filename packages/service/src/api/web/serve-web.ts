import type { FastifyInstance } from 'fastify'
import type { Exchange, VerbedRequest } from '../http/exchange.ts'
import { EXPLORER_PLACES } from './places.ts'
import { sendWebFile } from './send-web-file.ts'
import type { WebFile, WebFiles } from './web-files.ts'

/** Serves the explorer: one page at all its places, and the files that the page names. */
export function serveWeb(
  app: FastifyInstance,
  { page, files }: WebFiles,
  open: (request: VerbedRequest, response: Exchange['response']) => Exchange,
): void {
  const serve = (address: string, file: WebFile): void => {
    app.get(address, (request, reply) => {
      reply.hijack()
      const exchange = open(request.raw, reply.raw)
      exchange.routeId = 'explorer'
      sendWebFile(exchange, file)
    })
  }
  for (const place of EXPLORER_PLACES) serve(place, page)
  for (const [address, file] of files) serve(address, file)
}
