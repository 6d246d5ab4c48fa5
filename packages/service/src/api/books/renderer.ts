import { createBookRenderer } from '@priorbook/sdk/wire'

/**
 * Renders for the whole process: one page after the other, and none waits for anything in between. What
 * it renders without a page is borrowed: whoever awaits anything copies it first.
 */
export const RENDERER = createBookRenderer()
