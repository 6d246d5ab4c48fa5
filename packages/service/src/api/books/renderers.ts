import { createBookRenderer, type BookRenderer } from '@priorbook/sdk/wire'

// Each keeps the bytes of its largest page, up to a few MB.
const MOST = 4

const free: BookRenderer[] = []
const lent: BookRenderer[] = []
let made = 0

/**
 * Renders with one of a few renderers that the whole process shares. The bytes stay as they are until
 * the event loop turns: whoever awaits the answer copies them before it waits for anything else.
 */
export function renderBooks(render: (renderer: BookRenderer) => Uint8Array): Uint8Array {
  const renderer = free.pop() ?? (made < MOST ? create() : undefined)
  if (renderer === undefined) {
    // All are lent out in this turn: a copy costs less than another renderer.
    return render(spare()).slice()
  }
  if (lent.length === 0) setImmediate(takeBack)
  lent.push(renderer)
  return render(renderer)
}

function takeBack(): void {
  free.push(...lent)
  lent.length = 0
}

function create(): BookRenderer {
  made++
  return createBookRenderer()
}

let one: BookRenderer | undefined

function spare(): BookRenderer {
  return (one ??= createBookRenderer())
}
