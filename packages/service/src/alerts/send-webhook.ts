import { createHmac } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressGuard } from './address-guard.ts'

/** One attempt to deliver an event. */
export type WebhookAttempt = {
  readonly webhook: string
  readonly id: string
  readonly body: string
  readonly secret: string
  /** Seconds since 1970. */
  readonly seconds: number
}

/** How an attempt ended: the status of the answer, or why there is none. */
export type WebhookResult =
  | { readonly status: number }
  | { readonly status?: undefined; readonly error: string }

/** Sends an event once, follows no redirect, and gives up after a time. */
export function sendWebhook(
  attempt: WebhookAttempt,
  guard: AddressGuard,
  timeoutMs: number,
): Promise<WebhookResult> {
  const { webhook, body } = attempt
  const refused = guard.refuse(webhook)
  if (refused !== undefined) return Promise.resolve({ error: `the address ${refused}` })
  const url = new URL(webhook)
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve) => {
    const request = send(url, {
      method: 'POST',
      headers: headersOf(attempt),
      lookup: guard.lookup,
      // A connection of its own: a name is checked whenever it is used.
      agent: false,
    })
    const end = (result: WebhookResult): void => {
      clearTimeout(timer)
      resolve(result)
      request.destroy()
    }
    const timer = setTimeout(() => end({ error: `no answer within ${timeoutMs} ms` }), timeoutMs)
    request.once('response', (response) => {
      // The status says everything; what the receiver writes beside it is not read.
      response.on('error', () => undefined)
      end({ status: response.statusCode ?? 0 })
    })
    request.on('error', (error: NodeJS.ErrnoException) =>
      end({ error: error.code ?? error.message }),
    )
    request.end(body)
  })
}

// As the Standard Webhooks say, so that receivers can verify with a library.
function headersOf({ id, body, secret, seconds }: WebhookAttempt): Record<string, string> {
  return {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'Priorbook-Webhook/1',
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature(secret, id, seconds, body)}`,
  }
}

function signature(secret: string, id: string, seconds: number, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')
}
