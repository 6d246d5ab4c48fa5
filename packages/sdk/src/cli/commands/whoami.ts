import { layTable, printLines } from '../../command-line/index.ts'
import { defineCommand, printJson, shortTime } from '../command.ts'

/** `whoami`: the key, its plan and its limits. */
export const WHOAMI = defineCommand({
  name: 'whoami',
  args: '',
  mostArgs: 0,
  about: 'Show which key this is, what its plan allows and what is left of its limits.',
  options: {},
  examples: ['priorbook whoami', 'priorbook whoami --json'],
  async run(context) {
    const { isJson, signal } = context
    const client = context.client()
    const { data: key } = await client.whoami({ signal })
    const { data: limits } = await client.limits({ signal })
    if (isJson) {
      await printJson(context, { ...key, limits })
      return
    }
    const days = (count: number | null): string => (count === null ? 'all' : `${count} days`)
    const facts: [string, string][] = [
      ['key', `${key.key_prefix}…${key.key_last_four}  ${key.name}`],
      ['plan', key.plan],
      ['venues', key.venues.join(', ')],
      ['assets', key.assets === null ? 'all' : key.assets.join(', ')],
      ['history', days(key.history_days)],
      ['downloads', limits.bulk_days === null ? 'any range' : `up to ${limits.bulk_days} days`],
      ['features', key.features.length === 0 ? 'none' : key.features.join(', ')],
      ['created', `${shortTime(key.created_time)} UTC`],
      ['expires', key.expires_time === null ? 'never' : `${shortTime(key.expires_time)} UTC`],
      ...limits.rates.map(({ limit, quota, window_seconds, remaining }): [string, string] => [
        `per ${limit}`,
        `${remaining} of ${quota} requests left (${window_seconds} s)`,
      ]),
    ]
    const [, ...lines] = layTable([{ head: '' }, { head: '' }], facts)
    await printLines(context.io, lines)
  },
})
