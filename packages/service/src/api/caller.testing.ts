import { toMicros, type Micros } from '@priorbook/sdk/domain'
import { PageBuffer, Problem } from '@priorbook/sdk/wire'
import { createFormatChooser } from './http/negotiate.ts'
import { writeEnvelope } from './http/response.ts'
import { createParamReader } from './http/read-params.ts'
import { createCursorCodec } from './cursor.ts'
import type { Answer, ApiContext, Grant, Route } from './route.ts'

/** An answer as a client sees it; `body` is parsed where it is JSON. */
type TestAnswer = {
  readonly answer: Answer
  readonly text: string
  readonly body: TestBody
}

/** The envelope. */
type TestBody = {
  readonly data: unknown
  readonly meta: Readonly<Record<string, unknown>>
  readonly pagination: { readonly next_cursor: string | null; readonly has_more: boolean }
}

/** Calls the handlers of routes by an address with a query, without HTTP. */
export interface TestCaller {
  get(url: string, grant?: Grant): Promise<TestAnswer>
  /** The problem that a call ends in; fails where there is none. */
  problem(url: string, grant?: Grant): Promise<Problem>
}

/** A grant that allows everything, apart from the given changes. */
export function createTestGrant(changes: Partial<Grant> = {}): Grant {
  return {
    keyId: 'test',
    plan: 'test',
    requireVenue: () => undefined,
    requireAsset: () => undefined,
    requireFeature: () => undefined,
    allows: () => true,
    windowStart: () => 0 as Micros,
    ...changes,
  }
}

/** A page outside of the pool. */
export function leasePage(before = 0): PageBuffer {
  const page = new PageBuffer()
  page.clear(before)
  return page
}

/** A caller of routes over a store. */
export function createTestCaller(
  routes: readonly Route[],
  options: Partial<ApiContext> & Pick<ApiContext, 'store'>,
): TestCaller {
  const context: ApiContext = {
    cursors: createCursorCodec([Buffer.from('a secret of tests')]),
    now: () => toMicros(Date.now() * 1000),
    ...options,
  }
  const mounted = routes.map((route) => ({
    route,
    reader: createParamReader(route),
    chooseFormat: createFormatChooser(route),
    patterns: [route.address, ...(route.aliases ?? [])].map(toPattern),
  }))

  const get = async (url: string, grant = createTestGrant()): Promise<TestAnswer> => {
    const [path = '', query = ''] = url.split('?')
    for (const { route, reader, chooseFormat, patterns } of mounted) {
      const match = patterns.map((pattern) => pattern.exec(path)).find((found) => found !== null)
      if (match === undefined) continue
      const raw = Object.fromEntries(
        Object.entries(match.groups ?? {}).map(([name, value]) => [
          name,
          decodeURIComponent(value),
        ]),
      )
      const values = reader.query(query)
      const answer = await route.handle(
        {
          path: reader.path(raw),
          query: values,
          route: route.id,
          grant,
          format: chooseFormat(undefined, values['format']),
          signal: new AbortController().signal,
          leasePage,
        },
        context,
      )
      return show(answer, context)
    }
    throw new Problem('unknown_route', `no route takes ${path}`)
  }
  return {
    get,
    async problem(url, grant) {
      try {
        await get(url, grant)
      } catch (error) {
        if (error instanceof Problem) return error
        throw error
      }
      throw new Error(`${url} is answered`)
    },
  }
}

function show(answer: Answer, { notice }: ApiContext): TestAnswer {
  if (answer.kind === 'stream') throw new Error('a stream has no text here')
  if (answer.kind === 'text') {
    const { body } = answer
    const bytes = body instanceof PageBuffer ? body.bytes.subarray(0, body.end) : body
    const text = Buffer.from(bytes).toString()
    return { answer, text, body: { data: null, meta: {}, pagination: NO_PAGE } }
  }
  const text = Buffer.from(writeEnvelope(answer, notice)).toString()
  return { answer, text, body: JSON.parse(text) as TestBody }
}

const NO_PAGE = { next_cursor: null, has_more: false }

function toPattern(address: string): RegExp {
  const text = address.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')
  return new RegExp(`^${text}$`)
}
