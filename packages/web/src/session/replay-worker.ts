import { createClient } from '@priorbook/sdk/client'
import { toTrouble } from '../app/trouble.ts'
import { ReplayBooks, type ReplayNews } from './replay-books.ts'
import type { ReplayAnswer, ReplayWish } from './replay-feed.ts'

// Beside the page: thousands of rows a second are read, checked and applied without a frame waiting.
addEventListener('message', ({ data, ports: [port] }: MessageEvent<ReplayWish>) => {
  if (port !== undefined) void serve(data, port)
})

async function serve({ key, params }: ReplayWish, port: MessagePort): Promise<void> {
  const stopping = new AbortController()
  const books = new ReplayBooks()
  let isAsked = false
  const say = (answer: ReplayAnswer, transfer: Transferable[] = []): void => {
    isAsked = false
    port.postMessage(answer, transfer)
  }
  const answer = (): void => {
    const news = isAsked ? books.news() : undefined
    if (news !== undefined) say({ type: 'news', news }, buffersOf(news))
  }
  port.addEventListener('message', ({ data: word }: MessageEvent<'next' | 'stop'>) => {
    if (word === 'stop') {
      stopping.abort()
      port.close()
      return
    }
    isAsked = true
    answer()
  })
  port.start()
  try {
    const client = createClient({
      url: location.origin,
      ...(key === undefined ? { demo: true } : { key }),
    })
    for await (const message of client.socketReplay(params, { signal: stopping.signal })) {
      books.take(message)
      answer()
    }
    isAsked = true
    answer()
    say({ type: 'ended' })
  } catch (error) {
    say({ type: 'failed', trouble: toTrouble(error) })
  }
}

function buffersOf({ books }: ReplayNews): Transferable[] {
  return books.flatMap(([, book]) =>
    book === undefined
      ? []
      : [book.bids, book.asks].flatMap(({ ticks, units }) => [ticks.buffer, units.buffer]),
  )
}
