import { createServer, type AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { AddressGuard } from './address-guard.ts'
import { sendWebhook, type WebhookResult } from './send-webhook.ts'

type Home = {
  /** The addresses that connections came in at, in their order. */
  readonly reached: string[]
  /** How often the name was asked for. */
  asked: number
  send(): Promise<WebhookResult>
}

/** A name whose answers of DNS come in turn, the last one again and again, and a listener on all of loopback. */
async function open(
  allowed: readonly string[],
  answers: readonly (readonly string[])[],
): Promise<Home> {
  const reached: string[] = []
  const listener = createServer((socket) => {
    reached.push(socket.localAddress!)
    socket.destroy()
  })
  await new Promise<void>((resolve) => {
    listener.listen(0, '0.0.0.0', resolve)
  })
  onTestFinished(() => void listener.close())
  const { port } = listener.address() as AddressInfo
  const guard = new AddressGuard(allowed, (_, __, done) => {
    const found = answers[Math.min(home.asked++, answers.length - 1)]!
    done(
      null,
      found.map((address) => ({ address, family: 4 })),
    )
  })
  const attempt = { id: 'evt_x-1', body: '{}', secret: 'whsec_AAAA', seconds: 1 }
  const webhook = `https://rebinding.example:${port}/hook`
  const home: Home = {
    reached,
    asked: 0,
    send: () => sendWebhook({ ...attempt, webhook }, guard, 10_000),
  }
  return home
}

it('connects to the address that was checked, although the name leads elsewhere a moment later', async () => {
  const home = await open(['127.0.0.1/32'], [['127.0.0.1'], ['127.0.0.2']])
  // The listener does not speak TLS, so that every attempt fails after it was connected.
  expect(await home.send()).toHaveProperty('error')
  expect([home.reached, home.asked]).toEqual([['127.0.0.1'], 1])
  const refused = { error: 'the name leads to a network that is not public' }
  expect(await home.send()).toEqual(refused)
  expect([home.reached, home.asked]).toEqual([['127.0.0.1'], 2])
})

it('refuses an answer whole where one of its addresses is private', async () => {
  const home = await open(['127.0.0.1/32'], [['127.0.0.1', '127.0.0.2']])
  expect(await home.send()).toEqual({ error: 'the name leads to a network that is not public' })
  expect([home.reached, home.asked]).toEqual([[], 1])
})
