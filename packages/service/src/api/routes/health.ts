import { contractOf } from '@priorbook/sdk/wire'
import { defineRoute } from '../route.ts'

/** `/v3/health`: answers while the server can read its store. */
export const healthRoute = defineRoute(contractOf('health'), async (_request, { store }) => {
  // Any question will do: it reads the file, or throws.
  await store.fact('health')
  return { kind: 'data', data: { status: 'ok' }, count: 1, meta: {} }
})
