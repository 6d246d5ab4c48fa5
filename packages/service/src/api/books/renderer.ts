import { createBookRenderer } from '@priorbook/sdk/wire'

/**
 * The renderer of the process. Rendering never awaits, so pages do not interleave. Bytes that it returns
 * without a page share one buffer: copy them before the next await.
 */
export const RENDERER = createBookRenderer()
