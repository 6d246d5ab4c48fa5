import { contractOf } from '@priorbook/sdk/wire'
import { defineRoute } from '../route.ts'

/** `/v3/health`: answers while the server can read its store. */
export const healthRoute = defineRoute(contractOf('health'), async (_request, { store }) => {
  // Any read will do: it throws where the store cannot be read.
  await store.fact('health')
  return { kind: 'data', data: { status: 'ok' }, count: 1, meta: {} }
})
