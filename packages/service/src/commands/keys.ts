import { existsSync } from 'node:fs'
import { layTable, parseSpan, textOption, toInstant, UsageError } from '@priorbook/sdk/command-line'
import { parseMicros, PriorbookError, printMicros, type Micros } from '@priorbook/sdk/domain'
import { openAccess, type Access } from '../api/auth/access.ts'
import { printKeyState, type KeyRecord, type NewKey } from '../api/auth/keys.ts'
import { defineCommand, print, type ServerContext } from './command.ts'

const ACTIONS = ['create', 'list', 'revoke', 'roll'] as const
const OPTIONS = {
  plan: textOption('PLAN', 'The plan of a new key; explorer by default.'),
  name: textOption('NAME', 'What a new key is called in lists and logs.'),
  expires: textOption('DATE', 'When a new key expires, such as 2027-01-01; never by default.'),
  overlap: textOption('SPAN', 'How long a rolled key still works, such as 30m; 24h by default.'),
}

type Context = ServerContext<typeof OPTIONS>

/** `priorbook-server keys`. */
export const keysCommand = defineCommand({
  name: 'keys',
  args: 'create|list|revoke|roll [KEY_ID]',
  mostArgs: 2,
  about:
    'Creates, lists, revokes and replaces the API keys of a data folder; running servers follow within a second.',
  options: OPTIONS,
  examples: [
    'priorbook-server keys create --plan desk --name research --expires 2027-01-01',
    'priorbook-server keys list --json',
    'priorbook-server keys revoke key_4k2p0d8s1xq7',
    'priorbook-server keys roll key_4k2p0d8s1xq7 --overlap 48h',
  ],
  async run(context) {
    const { args, data, io } = context
    const [action, name] = args
    const plansFile = io.env['PRIORBOOK_API_PLANS'] ?? ''
    if (!isAction(action)) throw new UsageError('keys needs create, list, revoke or roll')
    if (action !== 'create' && !existsSync(data.path)) {
      throw new PriorbookError('store_unavailable', `${data.path} does not exist`)
    }
    const access = openAccess(data.path, plansFile === '' ? {} : { plansFile })
    try {
      switch (action) {
        case 'create':
          if (name !== undefined) throw new UsageError(`there is no ${name}`)
          return await show(context, create(access, context))
        case 'list':
          return await list(access, context)
        case 'revoke': {
          const key = access.keys.revoke(required(name))
          return await print(context, toJson(key), [`${key.id} is refused from now on`])
        }
        case 'roll':
          return await show(context, roll(access, context, required(name)))
      }
    } finally {
      access.close()
    }
  },
})

function isAction(text: string | undefined): text is (typeof ACTIONS)[number] {
  return ACTIONS.some((action) => action === text)
}

function create({ keys, plans }: Access, { options }: Context): NewKey {
  const { plan = 'explorer', name, expires } = options
  if (plans.find(plan) === undefined) {
    const known = plans.all().map((one) => one.name)
    throw new UsageError(`there is no plan ${plan}; known: ${known.join(', ')}`)
  }
  return keys.create({
    plan,
    ...(name === undefined ? {} : { name }),
    ...(expires === undefined ? {} : { expires: parseDate(expires) }),
  })
}

function roll({ keys }: Access, { options }: Context, name: string): NewKey {
  const ms = parseSpan(options.overlap ?? '24h')
  if (ms === undefined) throw new UsageError('--overlap is a time such as 30s, 15m, 24h or 7d')
  return keys.roll(name, ms)
}

async function list({ keys }: Access, context: Context): Promise<void> {
  const all = keys.list()
  const rows = all.map((key) => [
    key.id,
    `${key.prefix}…${key.lastFour}`,
    key.plan,
    printKeyState(key),
    key.name,
  ])
  const [, ...lines] = layTable(
    Array.from({ length: 5 }, () => ({ head: '' })),
    rows,
  )
  const shown = lines.length === 0 ? ['there are no keys'] : lines
  await print(context, { keys: all.map(toJson) }, shown)
}

async function show(context: Context, made: NewKey): Promise<void> {
  await print(context, { key: made.key, ...toJson(made) }, [
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

function required(name: string | undefined): string {
  if (name === undefined) throw new UsageError('name one key by its id')
  return name
}

function parseDate(text: string): Micros {
  try {
    return parseMicros(toInstant(text))
  } catch (cause) {
    throw new UsageError('--expires is a date such as 2027-01-01', undefined, { cause })
  }
}
