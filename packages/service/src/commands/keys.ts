import { existsSync } from 'node:fs'
import { parseMicros, PriorbookError, printMicros, type Micros } from '@priorbook/sdk/domain'
import { openAccess, type Access } from '../api/auth/access.ts'
import type { KeyRecord, NewKey } from '../api/auth/keys.ts'
import { parseArguments, print, type Arguments, type Command } from './command.ts'

const ACTIONS = ['create', 'list', 'revoke', 'roll'] as const
const DEFAULT_OVERLAP = '24h'
const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `priorbook-server keys`. */
export const keysCommand: Command = {
  name: 'keys',
  usage:
    'keys create|list|revoke|roll [KEY_ID] [--plan PLAN] [--name NAME] [--expires DATE] [--overlap 24h] [--data DIR]',
  about:
    'Makes, lists and ends the API keys of a data folder; running servers follow within a second.',
  examples: [
    'priorbook-server keys create --plan desk --name research --expires 2027-01-01',
    'priorbook-server keys list --json',
    'priorbook-server keys revoke key_4k2p0d8s1xq7',
    'priorbook-server keys roll key_4k2p0d8s1xq7 --overlap 48h',
  ],
  async run(args) {
    const given = parseArguments(args, { texts: ['plan', 'name', 'expires', 'overlap'] })
    const [action, ...rest] = given.rest
    const plansFile = process.env['PRIORBOOK_API_PLANS'] ?? ''
    if (!isAction(action)) {
      throw new PriorbookError('invalid_argument', 'keys needs create, list, revoke or roll')
    }
    if (action !== 'create' && !existsSync(given.data.path)) {
      throw new PriorbookError('store_unavailable', `${given.data.path} does not exist`)
    }
    const access = openAccess(given.data.path, plansFile === '' ? {} : { plansFile })
    try {
      switch (action) {
        case 'create':
          create(access, given)
          break
        case 'list':
          list(access, given)
          break
        case 'revoke': {
          const key = access.keys.revoke(nameIn(rest))
          print(given.json, toJson(key), [`${key.id} is refused from now on`])
          break
        }
        case 'roll':
          roll(access, given, nameIn(rest))
          break
      }
      return 0
    } finally {
      access.close()
    }
  },
}

function isAction(text: string | undefined): text is (typeof ACTIONS)[number] {
  return ACTIONS.some((action) => action === text)
}

function create({ keys, plans }: Access, { texts, json, rest }: Arguments): void {
  if (rest.length > 1) throw new PriorbookError('invalid_argument', `there is no ${rest[1]}`)
  const plan = texts.get('plan') ?? 'explorer'
  if (plans.find(plan) === undefined) {
    const known = plans.all().map(({ name }) => name)
    throw new PriorbookError(
      'invalid_argument',
      `there is no plan ${plan}; known: ${known.join(', ')}`,
    )
  }
  const name = texts.get('name')
  const expires = texts.get('expires')
  const made = keys.create({
    plan,
    ...(name === undefined ? {} : { name }),
    ...(expires === undefined ? {} : { expires: parseDate(expires) }),
  })
  show(made, json)
}

function roll({ keys }: Access, { texts, json }: Arguments, name: string): void {
  const overlap = texts.get('overlap') ?? DEFAULT_OVERLAP
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(overlap) ?? []
  if (count === undefined) {
    throw new PriorbookError('invalid_argument', '--overlap is a time such as 30s, 15m, 24h or 7d')
  }
  show(keys.roll(name, Number(count) * UNITS[unit!]!), json)
}

function list({ keys }: Access, { json }: Arguments): void {
  const all = keys.list()
  const rows = all.map((key) => [
    key.id,
    `${key.prefix}…${key.lastFour}`,
    key.plan,
    stateOf(key),
    key.name,
  ])
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(0, ...rows.map((row) => row[column]!.length)),
  )
  const lines = rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '))
  print(json, { keys: all.map(toJson) }, lines.length === 0 ? ['there are no keys'] : lines)
}

function show(made: NewKey, json: boolean): void {
  print(json, { key: made.key, ...toJson(made) }, [
    made.key,
    `${made.id}, plan ${made.plan}${made.expires === undefined ? '' : `, until ${printMicros(made.expires)}`}`,
    'It is shown this once: only its hash is kept.',
  ])
}

function toJson(key: KeyRecord): object {
  const time = (at: Micros | undefined): string | null =>
    at === undefined ? null : printMicros(at)
  return {
    id: key.id,
    prefix: key.prefix,
    last_four: key.lastFour,
    name: key.name,
    plan: key.plan,
    created_time: time(key.created),
    expires_time: time(key.expires),
    revoked_time: time(key.revoked),
    replaced_by: key.replacedBy ?? null,
  }
}

function stateOf({ expires, revoked }: KeyRecord): string {
  const now = Date.now() * 1000
  if (revoked !== undefined) {
    return revoked <= now ? 'revoked' : `ends ${printMicros(revoked).slice(0, 16)}`
  }
  if (expires === undefined) return 'active'
  return expires <= now ? 'expired' : `until ${printMicros(expires).slice(0, 10)}`
}

function nameIn(rest: readonly string[]): string {
  const [name, ...more] = rest
  if (name === undefined || more.length > 0) {
    throw new PriorbookError('invalid_argument', 'name one key by its id')
  }
  return name
}

function parseDate(text: string): Micros {
  try {
    return parseMicros(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)
  } catch (cause) {
    throw new PriorbookError('invalid_argument', '--expires is a date such as 2027-01-01', {
      cause,
    })
  }
}
