import { objectOf, wordOf } from '@priorbook/sdk/wire'
import { defineRoute } from '../route.ts'

/** `/v3/health`: answers while the server can read its store. */
export const healthRoute = defineRoute({
  id: 'health',
  address: '/v3/health',
  tag: 'Service',
  summary: 'Whether the service answers',
  description: 'Keyless. 200 while the store can be read, 503 otherwise.',
  isKeyless: true,
  path: {},
  query: {},
  data: objectOf({ status: wordOf(['ok']) }),
  async handle(_request, { store }) {
    // Any question will do: it reads the file, or throws.
    await store.fact('health')
    return { kind: 'data', data: { status: 'ok' }, count: 1, meta: {} }
  },
})
