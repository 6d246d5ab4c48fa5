import type { CDPSession } from 'playwright-core'

/** What works on a page of Playwright and on a plain one alike. */
export type Driven = {
  evaluate<Arg, Result>(work: (arg: Arg) => Result | Promise<Result>, arg: Arg): Promise<Result>
}

/** A page that nobody watches. */
export type PlainPage = Driven & {
  readonly errors: string[]
  close(): Promise<void>
}

/** How it looks and what runs in it first. */
export type PlainLook = { readonly width: number; readonly height: number; readonly script: string }

/**
 * Opens a page as a visitor has it. Playwright has every message of a page's sockets copied to the test:
 * at 3,500 a second this takes more of two cores than the page. Here nothing is asked of the browser
 * but to run script. `root` is a session of the whole browser.
 */
export async function openPlainPage(
  root: CDPSession,
  url: string,
  { width, height, script }: PlainLook,
): Promise<PlainPage> {
  const { browserContextId } = await root.send('Target.createBrowserContext')
  const { targetId } = await root.send('Target.createTarget', {
    url: 'about:blank',
    browserContextId,
  })
  // A session within the session: those of their own are Playwright's.
  const { sessionId } = await root.send('Target.attachToTarget', { targetId, flatten: false })
  const errors: string[] = []
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  root.on('Target.receivedMessageFromTarget', (event) => {
    if (event.sessionId !== sessionId) return
    const message = JSON.parse(event.message) as Message
    if (message.method === 'Runtime.exceptionThrown') errors.push(JSON.stringify(message.params))
    if (message.id === undefined) return
    const { resolve, reject } = waiting.get(message.id)!
    waiting.delete(message.id)
    if (message.error === undefined) resolve(message.result)
    else reject(new Error(message.error.message))
  })
  let last = 0
  const send = async (method: string, params: object = {}): Promise<unknown> => {
    const id = ++last
    const answer = Promise.withResolvers<unknown>()
    waiting.set(id, answer)
    await root.send('Target.sendMessageToTarget', {
      sessionId,
      message: JSON.stringify({ id, method, params }),
    })
    return answer.promise
  }
  await send('Page.enable')
  await send('Runtime.enable')
  const screen = { width, height, deviceScaleFactor: 1, mobile: false }
  await send('Emulation.setDeviceMetricsOverride', screen)
  await send('Page.addScriptToEvaluateOnNewDocument', { source: script })
  await send('Page.navigate', { url })
  return {
    errors,
    async evaluate(work, arg) {
      const expression = `(${work.toString()})(${JSON.stringify(arg) ?? ''})`
      const params = { expression, awaitPromise: true, returnByValue: true }
      const { result, exceptionDetails } = (await send('Runtime.evaluate', params)) as Evaluated
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
      return result.value as never
    },
    async close() {
      await root.send('Target.closeTarget', { targetId })
      await root.send('Target.disposeBrowserContext', { browserContextId })
    },
  }
}

type Message = {
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

type Evaluated = {
  readonly result: { readonly value: unknown }
  readonly exceptionDetails?: unknown
}
