import type { IncomingMessage } from 'node:http'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { CaptureLog } from '../venues/capture/contract.ts'
import { asHtml, asText, onlyBy, type OpsAnswer } from './answer.ts'
import { FormTickets } from './form-tickets.ts'
import { markup } from './html.ts'
import type { KeyDesk } from './key-desk.ts'
import { toKeyPage, toKeysPage, toNewKeyPage, toRevokedPage } from './keys-page.ts'
import { OperatorToken } from './operator-token.ts'
import { toPage } from './page.ts'

const MAX_FORM_BYTES = 8192
const FORM = 'application/x-www-form-urlencoded'
const ONE_KEY = /^\/keys\/(key_[0-9a-z]{12})(?:\/(roll|revoke))?$/
const CHALLENGE = 'Basic realm="Priorbook operators", charset="UTF-8"'

/** What the pages of keys work on. */
export type KeyRoutesOptions = {
  readonly desk: KeyDesk
  /** At least 20 characters; whoever has it may manage keys. */
  readonly token: string
  readonly log: CaptureLog
}

/** The pages under `/keys`, all of them behind the operator's token. */
export class KeyRoutes {
  readonly #desk: KeyDesk
  readonly #token: OperatorToken
  readonly #tickets = new FormTickets()
  readonly #log: CaptureLog

  constructor({ desk, token, log }: KeyRoutesOptions) {
    this.#desk = desk
    this.#token = new OperatorToken(token)
    this.#log = log
  }

  async answer(request: IncomingMessage, url: URL): Promise<OpsAnswer> {
    const { authorization } = request.headers
    if (!this.#token.isIn(authorization)) {
      if (authorization !== undefined) {
        this.#log.warn({ from: request.socket.remoteAddress }, 'a wrong token of an operator')
      }
      return {
        ...asText(401, 'keys are behind the token of the operator, the password of any user'),
        headers: { 'www-authenticate': CHALLENGE },
      }
    }
    try {
      return request.method === 'POST' ? await this.#act(request, url) : this.#show(url)
    } catch (error) {
      if (!(error instanceof PriorbookError) || error.code !== 'invalid_argument') throw error
      return toRefusal(400, error.message)
    }
  }

  #show({ pathname, searchParams }: URL): OpsAnswer {
    const ticketOf = (action: string): string => this.#tickets.issue(action)
    if (pathname === '/keys') return asHtml(toKeysPage(this.#desk, ticketOf, searchParams))
    const [, id, action] = ONE_KEY.exec(pathname) ?? []
    if (action !== undefined) return onlyBy('POST')
    const page = id === undefined ? undefined : toKeyPage(this.#desk, ticketOf, id)
    return page === undefined ? toRefusal(404, 'There is no such key.') : asHtml(page)
  }

  async #act(request: IncomingMessage, { pathname }: URL): Promise<OpsAnswer> {
    const [, id, action] = ONE_KEY.exec(pathname) ?? []
    if (pathname !== '/keys' && action === undefined) return onlyBy('GET, HEAD')
    if (!isOwnForm(request)) return toRefusal(403, 'The form was sent by another site.')
    if (request.headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== FORM) {
      return toRefusal(415, `A form is sent as ${FORM}.`)
    }
    const form = await readForm(request)
    if (form === undefined) return toRefusal(413, 'The form is too long.')
    const field = (name: string): string => (form.get(name) ?? '').trim()
    const purpose = action === undefined ? 'create' : `${action} ${id}`
    const why = this.#tickets.redeem(purpose, field('ticket'))
    if (why !== undefined) return toRefusal(403, why)
    switch (action) {
      case undefined: {
        const asked = { plan: field('plan'), name: field('name'), expires: field('expires') }
        return asHtml(toNewKeyPage(this.#desk.create(asked)), 201)
      }
      case 'roll':
        return asHtml(toNewKeyPage(this.#desk.roll(id!, field('overlap'))), 201)
      default:
        return asHtml(toRevokedPage(this.#desk.revoke(id!)))
    }
  }
}

function toRefusal(status: number, why: string): OpsAnswer {
  const body = markup`<p>${why}</p><p><a href="/keys">All keys</a></p>`
  return asHtml(toPage('Refused', body), status)
}

// The ticket inside a form is what other sites cannot know. What browsers say of the sender is asked as well.
function isOwnForm({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  // Without a referrer browsers send null.
  const { origin = 'null', host } = headers
  return origin === 'null' || (URL.canParse(origin) && new URL(origin).host === host)
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MAX_FORM_BYTES) return undefined
    parts.push(part)
  }
  return new URLSearchParams(Buffer.concat(parts).toString())
}
