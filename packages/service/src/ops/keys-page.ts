import { printBytes } from '@priorbook/sdk/command-line'
import { printMicros, type Micros } from '@priorbook/sdk/domain'
import { printKeyState, type KeyRecord, type NewKey } from '../api/auth/keys.ts'
import type { UsageRow } from '../api/route.ts'
import { facts, markup, table, type Cell, type Html } from './html.ts'
import { USAGE_DAYS, type KeyDesk } from './key-desk.ts'
import { toPage } from './page.ts'

const PAGE_KEYS = 100
const USE_HEADS = ['requests', 'refused', 'over the limit', 'rows', 'sent']

/** Writes the ticket of a form for one action. */
export type TicketOf = (action: string) => string

/** The page of all keys, newest first, with a form for a new one. */
export function toKeysPage(desk: KeyDesk, ticketOf: TicketOf, query: URLSearchParams): string {
  const page = Math.max(1, Math.trunc(Number(query.get('page') ?? 1)) || 1)
  const { keys, all } = desk.list((page - 1) * PAGE_KEYS, PAGE_KEYS)
  const rows = keys.map(([key, usage]): Cell[] => [
    markup`<a href="/keys/${key.id}">${key.id}</a>`,
    markup`<code>${key.prefix}…${key.lastFour}</code>`,
    key.name,
    key.plan,
    printKeyState(key),
    dayOf(key.created),
    ...toUse(usage),
  ])
  const heads = ['key', 'begins and ends', 'name', 'plan', 'state', 'created', ...USE_HEADS]
  const next =
    all > page * PAGE_KEYS
      ? markup`<p><a rel="next" href="/keys?page=${page + 1}">Older keys</a></p>`
      : undefined
  const body = markup`${createForm(desk, ticketOf)}
${table(`${all} keys, and what they used in ${USAGE_DAYS} days`, heads, rows, 'There are no keys.')}${next}`
  return toPage('Keys', body, { here: '/keys' })
}

/** The page of one key: what it used by day and route, and forms to roll and to revoke it. */
export function toKeyPage(desk: KeyDesk, ticketOf: TicketOf, id: string): string | undefined {
  const found = desk.find(id)
  if (found === undefined) return undefined
  const [key, usage] = found
  const rows = usage.toReversed().map((row): Cell[] => [dayOf(row.day), row.route, ...toUse([row])])
  const said: [string, string][] = [
    ['begins and ends', `${key.prefix}…${key.lastFour}`],
    ['name', key.name],
    ['plan', key.plan],
    ['state', printKeyState(key)],
    ['created', dayOf(key.created)],
  ]
  if (key.replacedBy !== undefined) said.push(['replaced by', key.replacedBy])
  const heads = ['day', 'route', ...USE_HEADS]
  const body = markup`${facts(said)}
${isOver(key) ? undefined : endForms(key, ticketOf)}
${table(`Use in ${USAGE_DAYS} days`, heads, rows, 'It was not used.')}`
  return toPage(`Key ${key.id}`, body)
}

/** The page with the text of a new key, which is not shown again. */
export function toNewKeyPage({ key, id, plan, expires }: NewKey): string {
  const until = expires === undefined ? '' : ` until ${dayOf(expires)}`
  const body = markup`<output>${key}</output>
<p>It is shown this once: only its hash is kept. <a href="/keys/${id}">${id}</a> has plan ${plan}${until}.</p>`
  return toPage('New key', body)
}

/** The page after a key was revoked. */
export function toRevokedPage({ id }: KeyRecord): string {
  const body = markup`<p><a href="/keys/${id}">${id}</a> is refused from now on.</p>`
  return toPage('Key revoked', body)
}

function createForm(desk: KeyDesk, ticketOf: TicketOf): Html {
  const plans = desk.plans().map((name) => markup`<option>${name}</option>`)
  return markup`<h2>Create a key</h2>
<form method="post" action="/keys">${ticketField(ticketOf('create'))}
<label>Plan <select name="plan">${plans}</select></label>
<label>Name <input name="name" maxlength="100" autocomplete="off"></label>
<label>Refused from (UTC) <input name="expires" type="date"></label>
<button>Create</button></form>`
}

function endForms({ id }: KeyRecord, ticketOf: TicketOf): Html {
  return markup`<h2>Replace or end it</h2>
<form method="post" action="/keys/${id}/roll">${ticketField(ticketOf(`roll ${id}`))}
<label>The old key still works for <input name="overlap" value="24h" size="6" required></label>
<button>Roll</button></form>
<form method="post" action="/keys/${id}/revoke">${ticketField(ticketOf(`revoke ${id}`))}
<button>Revoke now</button></form>`
}

function ticketField(ticket: string): Html {
  return markup`<input type="hidden" name="ticket" value="${ticket}">`
}

function toUse(rows: readonly UsageRow[]): Cell[] {
  const sum = (of: (row: UsageRow) => number): number =>
    rows.reduce((total, row) => total + of(row), 0)
  return [
    sum(({ requests }) => requests),
    sum(({ refused }) => refused),
    sum(({ limited }) => limited),
    sum((row) => row.rows),
    printBytes(sum(({ bytes }) => bytes)),
  ]
}

function isOver({ revoked, expires }: KeyRecord): boolean {
  const now = Date.now() * 1000
  return (revoked ?? Infinity) <= now || (expires ?? Infinity) <= now
}

function dayOf(time: number): string {
  return printMicros(time as Micros).slice(0, 10)
}
