import { toMicros } from '@priorbook/sdk/domain'
import { Problem, type WriteMethod } from '@priorbook/sdk/wire'
import type { ClientAddress } from '../../lib/client-address.ts'
import type { Access } from '../auth/access.ts'
import type { PlanGrant } from '../auth/grant.ts'
import type { ApiContext, Route } from '../route.ts'
import { requireAdmitted, type Admission } from '../auth/limiter.ts'
import { allowOf, deprecationHeaders, limitHeaders, PREFLIGHT_HEADERS } from './headers.ts'
import { LongAnswers } from './long-answers.ts'
import { createFormatChooser } from './negotiate.ts'
import { MAX_ADDRESS, toProblem } from './problem.ts'
import { readJsonBody } from './read-body.ts'
import { createParamReader } from './read-params.ts'
import {
  HandlerRequest,
  hasBody,
  type MountedRoute,
  type PendingRequest,
  type Target,
} from './request.ts'
import { sendAnswer } from './response.ts'

/** Prepares a route for requests. */
export function mountRoute(route: Route, context: ApiContext, keyless?: PlanGrant): MountedRoute {
  return {
    route,
    context,
    headers: route.deprecated === undefined ? [] : deprecationHeaders(route.deprecated),
    allow: allowOf(route),
    reader: createParamReader(route),
    chooseFormat: createFormatChooser(route),
    keyless,
  }
}

/** What the dispatcher needs beside requests. */
export type DispatchOptions = {
  readonly access: Access
  readonly now: () => number
  readonly clientAddress: ClientAddress
  readonly corsOrigin: string | undefined
  /** Called with every unexpected error. */
  readonly onFailure: (error: unknown, pending: PendingRequest) => void
}

/** A request on its way to its route. */
export type Dispatched = { readonly pending: PendingRequest; readonly target: Target }

// A larger body is refused with 413, whatever the method.
const MAX_BODY = 1_048_576

/** Answers requests: checks key, limits, method and parameters, runs the handler, sends its answer. */
export class Dispatcher {
  readonly #options: DispatchOptions
  readonly #long = new LongAnswers()

  constructor(options: DispatchOptions) {
    this.#options = options
  }

  /** Starts to answer a request; never throws. */
  start({ pending, target }: Dispatched): void {
    void this.#run(pending, target)
  }

  async #run(pending: PendingRequest, target: Target): Promise<void> {
    try {
      const admitted = this.#enter(pending, target)
      if (admitted === 'answered') return
      const grant = admitted instanceof Promise ? await admitted : admitted
      const { mounted } = target
      const { method } = pending
      if (target.answer !== undefined) await target.answer.run(pending)
      else if (mounted === undefined) throw target.refusal ?? unknownRoute()
      else {
        if (mounted.headers.length > 0) pending.headers.push(...mounted.headers)
        pending.allow = mounted.allow
        if (method === 'OPTIONS') pending.send(204, ['Allow', pending.allow], undefined, 0)
        else if (method !== 'GET' && method !== 'HEAD') {
          await this.#write(pending, target, mounted, grant!)
        } else {
          const request = toRequest(pending, target, mounted, grant!)
          if (mounted.route.isLong?.(request) !== true) {
            await this.#answer(pending, mounted, request)
          } else {
            const name = this.#clientName(pending)
            const end = await this.#long.begin(name, request.signal)
            await this.#answer(pending, mounted, request).finally(end)
          }
        }
      }
    } catch (error) {
      this.#fail(pending, error)
    } finally {
      pending.releasePages()
    }
  }

  async #answer(
    pending: PendingRequest,
    { route, context }: MountedRoute,
    request: HandlerRequest,
  ): Promise<void> {
    const answer = await route.handle(request, context)
    if (answer.kind === 'stream') this.#watchKey(pending)
    const sending = sendAnswer(pending, answer, context.notice)
    if (sending !== undefined) await sending
  }

  // Requests without a key are told apart by the address of the client.
  #clientName({ grant, request }: PendingRequest): string {
    return grant === undefined ? this.#options.clientAddress(request) : `key ${grant.keyId}`
  }

  #enter(
    pending: PendingRequest,
    target: Target,
  ): PlanGrant | Promise<PlanGrant> | undefined | 'answered' {
    pending.now = toMicros(this.#options.now())
    refuseLarge(pending)
    if (!this.#isPreflight(pending)) return this.#admit(pending, target)
    pending.send(204, PREFLIGHT_HEADERS, undefined, 0)
    return 'answered'
  }

  async #write(
    pending: PendingRequest,
    target: Target,
    { route, context, reader }: MountedRoute,
    grant: PlanGrant,
  ): Promise<void> {
    const method = pending.method as WriteMethod
    const contract = route.writes?.[method]
    const handle = route.handleWrites?.[method]
    if (contract === undefined || handle === undefined) {
      throw new Problem('method_not_allowed', `the route does not take ${method}`)
    }
    pending.routeId = contract.id
    refuseQuery(target.query)
    const path = reader.path(target.params)
    const body = await readJsonBody(pending.request, contract.body !== undefined)
    const parts = { path, query: {}, route: contract.id, grant, format: 'json' } as const
    const request = Object.assign(new HandlerRequest(parts, pending), { body })
    const answer = await handle(request, context)
    const sending = sendAnswer(pending, answer, context.notice)
    if (sending !== undefined) await sending
  }

  #isPreflight({ method, request: { headers } }: PendingRequest): boolean {
    return (
      method === 'OPTIONS' &&
      this.#options.corsOrigin !== undefined &&
      headers.origin !== undefined &&
      headers['access-control-request-method'] !== undefined
    )
  }

  /** Checks the key where one is needed, and counts the request; undefined for unknown open addresses. */
  #admit(
    pending: PendingRequest,
    { mounted, isOpen = false, answer }: Target,
  ): PlanGrant | Promise<PlanGrant> | undefined {
    const { request } = pending
    const keyless = mounted?.keyless
    if (keyless !== undefined) {
      // Without a key, requests are counted by the client's address.
      const counted = `${keyless.keyId} ${this.#options.clientAddress(request)}`
      return this.#count(pending, keyless, counted)
    }
    if (isOpen) return undefined
    const grant = this.#options.access.authenticator.check(
      request.headers.authorization,
      pending.now,
    )
    pending.grant = grant
    if (answer !== undefined) {
      return this.#count(pending, answer.limits, `${answer.name} ${grant.keyId}`)
    }
    return this.#count(pending, grant, grant.keyId)
  }

  // A download may go on for longer than its key.
  #watchKey(pending: PendingRequest): void {
    if (pending.grant === undefined) return
    const { access, now } = this.#options
    const { authorization } = pending.request.headers
    pending.recheck = () => void access.authenticator.check(authorization, toMicros(now()))
  }

  // At once, unless nodes count together.
  #count(
    pending: PendingRequest,
    grant: PlanGrant,
    counted: string,
  ): PlanGrant | Promise<PlanGrant> {
    const admission = this.#options.access.limiter.admit(counted, grant.terms, pending.now / 1000)
    return admission instanceof Promise
      ? admission.then((one) => enter(pending, grant, one))
      : enter(pending, grant, admission)
  }

  #fail(pending: PendingRequest, error: unknown): void {
    const { onFailure } = this.#options
    const { response } = pending
    if (response.destroyed && !response.headersSent && isAbort(error)) {
      // The client has left before its answer began.
      pending.finished(499, 0, 0)
      return
    }
    try {
      const problem = toProblem(error)
      if (problem === undefined || !(error instanceof Problem)) onFailure(error, pending)
      if (response.headersSent) response.destroy()
      else pending.problem(problem ?? internalError())
    } catch (second) {
      onFailure(second, pending)
      response.destroy()
    }
  }
}

function toRequest(
  pending: PendingRequest,
  { query: text, params }: Target,
  { route, reader, chooseFormat }: MountedRoute,
  grant: PlanGrant,
): HandlerRequest {
  const query = reader.query(text)
  const format = chooseFormat(pending.request.headers.accept, query['format'])
  const path = reader.path(params)
  return new HandlerRequest({ path, query, route: route.id, grant, format }, pending)
}

function enter(
  pending: PendingRequest,
  grant: PlanGrant,
  admission: Admission | undefined,
): PlanGrant {
  if (admission === undefined) return grant
  const nowMs = pending.now / 1000
  pending.headers = limitHeaders(admission, nowMs)
  requireAdmitted(admission, grant.plan, nowMs)
  return grant
}

function refuseLarge({ request, method }: PendingRequest): void {
  if ((request.url?.length ?? 0) > MAX_ADDRESS) {
    throw new Problem('uri_too_long', `the address has more than ${MAX_ADDRESS} characters`)
  }
  if (!hasBody(request)) return
  const length = Number(request.headers['content-length'] ?? 0)
  const isBodiless = method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
  if (isBodiless || length > MAX_BODY) {
    throw new Problem('body_too_large', 'the request has a body that the route does not take')
  }
}

// What is written is in the body.
function refuseQuery(query: string): void {
  const [name] = new URLSearchParams(query).keys()
  if (name === undefined) return
  throw new Problem('unknown_parameter', 'the method takes no parameters in the address', {
    param: name.slice(0, 60),
  })
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

function unknownRoute(): Problem {
  return new Problem('unknown_route', 'there is nothing at this address', {
    hint: 'All routes: /v3/openapi.json',
  })
}

function internalError(): Problem {
  return new Problem('internal_error', 'the request id names the entry in the log')
}
