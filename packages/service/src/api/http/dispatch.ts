import { toMicros } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import type { Access } from '../auth/access.ts'
import type { PlanGrant } from '../auth/grant.ts'
import type { ApiContext, Route } from '../route.ts'
import { createFormatChooser, type FormatChooser } from './accept.ts'
import { hasBody, type Exchange } from './exchange.ts'
import { HandlerRequest } from './handler-request.ts'
import { ALLOW, limitHeaders, PREFLIGHT_HEADERS, secondsUntil } from './headers.ts'
import { toProblem } from './problem-body.ts'
import { createParamReader, type ParamReader } from './read-params.ts'
import { sendAnswer } from './send-answer.ts'

/** A route where it is served: from which store, and for whom. */
export type Post = {
  readonly route: Route
  readonly context: ApiContext
  readonly reader: ParamReader
  readonly chooseFormat: FormatChooser
  /** The grant of a route that needs no key. */
  readonly keyless: PlanGrant | undefined
}

/** Prepares a route for being served. */
export function createPost(route: Route, context: ApiContext, keyless?: PlanGrant): Post {
  return {
    route,
    context,
    reader: createParamReader(route),
    chooseFormat: createFormatChooser(route),
    keyless,
  }
}

/** A request that waits for its turn; without a post it asks for nothing that exists. */
export type Task = {
  readonly exchange: Exchange
  readonly post: Post | undefined
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  /** Says why there is no post. */
  readonly refusal?: Problem
  /** True where an unknown address is nobody's secret. */
  readonly isOpen?: boolean
}

/** What the dispatcher needs beside its tasks. */
export type DispatchOptions = {
  readonly access: Access
  readonly now: () => number
  readonly corsOrigin: string | undefined
  /** Told of what nobody foresaw. */
  readonly onFailure: (error: unknown, exchange: Exchange) => void
}

const MAX_ADDRESS = 8192
const MAX_REFUSED_BODY = 1_048_576

/** Takes a request from its key to its answer; it never throws. */
export function createDispatcher(options: DispatchOptions): (task: Task) => void {
  const { access, corsOrigin, onFailure } = options

  const fail = (exchange: Exchange, error: unknown): void => {
    const problem = toProblem(error)
    if (problem === undefined || !(error instanceof Problem)) onFailure(error, exchange)
    const { response } = exchange
    if (response.headersSent) response.destroy()
    else exchange.problem(problem ?? unforeseen())
  }

  const admit = (exchange: Exchange, grant: PlanGrant, counted: string): void => {
    const nowMs = exchange.now / 1000
    const admission = access.limiter.admit(counted, grant.terms, nowMs)
    if (admission === undefined) return
    exchange.headers = limitHeaders(admission, nowMs)
    if (admission.isAdmitted) return
    const { name, quota, seconds, nextMs } = admission.refusedBy!
    throw new Problem(
      'rate_limited',
      `the plan ${grant.plan} allows ${quota} requests in ${seconds} s`,
      { limit: name, retryAfter: Math.max(1, secondsUntil(nextMs, nowMs)) },
    )
  }

  const run = async (task: Task): Promise<void> => {
    const { exchange, post, params, query } = task
    const { request, verb } = exchange
    exchange.now = toMicros(options.now())
    refuseLarge(exchange)
    if (verb === 'OPTIONS' && corsOrigin !== undefined && isPreflight(exchange)) {
      exchange.send(204, PREFLIGHT_HEADERS, undefined, 0)
      return
    }
    let grant = post?.keyless
    if (grant === undefined && task.isOpen !== true) {
      grant = access.authenticator.check(request.headers.authorization, exchange.now)
      exchange.grant = grant
      admit(exchange, grant, grant.keyId)
    } else if (grant !== undefined) {
      // Without a key the address of the caller is all that can be counted.
      admit(exchange, grant, `${grant.keyId} ${request.socket.remoteAddress ?? ''}`)
    }
    if (post === undefined) throw task.refusal ?? unknownRoute()
    if (verb === 'OPTIONS') {
      exchange.send(204, ['Allow', ALLOW], undefined, 0)
      return
    }
    if (verb !== 'GET' && verb !== 'HEAD') {
      throw new Problem('method_not_allowed', `the route takes no ${verb}`)
    }
    const { route, context } = post
    const values = post.reader.query(query)
    const format = post.chooseFormat(request.headers.accept, values['format'])
    const asked = new HandlerRequest(
      { path: post.reader.path(params), query: values, route: route.id, grant: grant!, format },
      exchange.response,
    )
    const answer = await route.handle(asked, context)
    const sending = sendAnswer(exchange, answer, context.notice)
    if (sending !== undefined) await sending
  }

  return (task) => {
    const { exchange } = task
    run(task).catch((error: unknown) => {
      try {
        fail(exchange, error)
      } catch (second) {
        onFailure(second, exchange)
        exchange.response.destroy()
      }
    })
  }
}

function refuseLarge({ request, verb }: Exchange): void {
  if ((request.url?.length ?? 0) > MAX_ADDRESS) {
    throw new Problem('uri_too_long', `the address has more than ${MAX_ADDRESS} characters`)
  }
  if (!hasBody(request)) return
  const length = Number(request.headers['content-length'] ?? 0)
  const takesNone = verb === 'GET' || verb === 'HEAD' || verb === 'OPTIONS'
  if (takesNone || length > MAX_REFUSED_BODY) {
    throw new Problem('body_too_large', 'the request has a body; no route takes one')
  }
}

function isPreflight({ request }: Exchange): boolean {
  return (
    request.headers.origin !== undefined &&
    request.headers['access-control-request-method'] !== undefined
  )
}

function unknownRoute(): Problem {
  return new Problem('unknown_route', 'there is nothing at this address', {
    hint: 'All routes: /v3/openapi.json',
  })
}

function unforeseen(): Problem {
  return new Problem('internal_error', 'the request id names the entry in the log')
}
