import type { ServerResponse } from 'node:http'
import type { Grant, ParamTable, RouteRequest } from '../route.ts'
import type { Format } from './accept.ts'
import type { Values } from './read-params.ts'

/** What a handler gets; its signal is made only when somebody asks for it. */
export class HandlerRequest implements RouteRequest<ParamTable, ParamTable> {
  readonly path: Values
  readonly query: Values
  readonly route: string
  readonly grant: Grant
  readonly format: Format
  readonly #response: ServerResponse
  #abort: AbortController | undefined

  constructor(
    parts: { path: Values; query: Values; route: string; grant: Grant; format: Format },
    response: ServerResponse,
  ) {
    this.path = parts.path
    this.query = parts.query
    this.route = parts.route
    this.grant = parts.grant
    this.format = parts.format
    this.#response = response
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController()
      this.#abort = abort
      if (this.#response.destroyed) abort.abort()
      else {
        this.#response.once('close', () => {
          if (!this.#response.writableFinished) abort.abort()
        })
      }
    }
    return this.#abort.signal
  }
}
