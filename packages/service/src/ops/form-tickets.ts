import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { BoundedMap } from '../lib/bounded-map.ts'

const VALID_MS = 3_600_000
/** More forms than an operator sends while one is valid. */
const MAX_SENT = 10_000

/**
 * Tickets inside forms. A browser sends the operator's token with forms of other sites too, but those cannot
 * read a ticket. Each is for one form and good once, so that a page that is loaded again does nothing twice.
 */
export class FormTickets {
  readonly #secret = randomBytes(32)
  readonly #sent = new BoundedMap<string, true>(MAX_SENT)
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** A ticket for the form of one action. */
  issue(action: string): string {
    const ticket = `${this.#now() + VALID_MS}.${randomBytes(12).toString('base64url')}`
    return `${ticket}.${this.#sign(action, ticket)}`
  }

  /** Takes the ticket of a form that was sent; returns why it does not count, if so. */
  redeem(action: string, given: string): string | undefined {
    const at = given.lastIndexOf('.')
    const ticket = given.slice(0, Math.max(0, at))
    const expected = Buffer.from(this.#sign(action, ticket))
    const signature = Buffer.from(given.slice(at + 1))
    const isOurs = signature.length === expected.length && timingSafeEqual(signature, expected)
    if (!isOurs) return 'This form is not one of this page. Load the page again.'
    if (Number.parseInt(ticket, 10) < this.#now()) {
      return 'This form is more than an hour old. Load the page again.'
    }
    if (this.#sent.has(ticket)) return 'This form was sent before. Nothing was done again.'
    this.#sent.set(ticket, true)
    return undefined
  }

  #sign(action: string, ticket: string): string {
    return createHmac('sha256', this.#secret).update(`${action}\n${ticket}`).digest('base64url')
  }
}
