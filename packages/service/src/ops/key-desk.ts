import { parseMicros, PriorbookError, type Micros } from '@priorbook/sdk/domain'
import { openAccess, type Access } from '../api/auth/access.ts'
import type { KeyRecord, NewKey } from '../api/auth/keys.ts'
import type { UsageRow } from '../api/route.ts'
import { SPAN, spanMicros } from '../lib/span.ts'
import type { CaptureLog } from '../venues/capture/contract.ts'

/** Where the keys are, and who may manage them. */
export type KeyDeskOptions = {
  readonly dataPath: string
  /** A file of plans; empty for that of the data folder. */
  readonly plansFile: string
  readonly log: CaptureLog
}

const DAY_MS = 86_400_000
const NAME_CHARS = 100
const MAX_OVERLAP_MICROS = 365 * DAY_MS * 1000
/** For how many days use is shown. */
export const USAGE_DAYS = 30

/** What operators do with the keys of a data folder. The files are open only while something is done. */
export class KeyDesk {
  readonly #options: KeyDeskOptions

  constructor(options: KeyDeskOptions) {
    this.#options = options
  }

  /** The names of the plans, cheapest first. */
  plans(): readonly string[] {
    return this.#with(({ plans }) => plans.all().map(({ name }) => name))
  }

  /** Some keys, newest first, with what each used lately, and how many there are. */
  list(
    from: number,
    limit: number,
  ): { readonly keys: readonly (readonly [KeyRecord, UsageRow[]])[]; readonly all: number } {
    return this.#with(({ keys, usage }) => {
      const all = keys.list().toReversed()
      const shown = all.slice(from, from + limit)
      return {
        keys: shown.map((key) => [key, [...usage.read(key.id, firstDay())]] as const),
        all: all.length,
      }
    })
  }

  /** One key with what it used lately, by day and route; undefined where there is none. */
  find(id: string): readonly [KeyRecord, readonly UsageRow[]] | undefined {
    return this.#with(({ keys, usage }) => {
      const key = keys.list().find((one) => one.id === id)
      return key && [key, usage.read(id, firstDay())]
    })
  }

  /** Creates a key from a form; empty text leaves out the name and the end. */
  create(form: { readonly plan: string; readonly name: string; readonly expires: string }): NewKey {
    const { plan, name, expires } = form
    if (name.length > NAME_CHARS || /\p{Cc}/u.test(name)) {
      throw invalid(`a name has at most ${NAME_CHARS} characters, on one line`)
    }
    const end = expires === '' ? {} : { expires: parseDay(expires) }
    const made = this.#with(({ keys, plans }) => {
      if (plans.find(plan) === undefined) throw invalid('there is no such plan')
      return keys.create({ plan, ...(name === '' ? {} : { name }), ...end })
    })
    this.#tell(made, 'an operator created a key')
    return made
  }

  /** Replaces a key; the old one works until the overlap, such as 24h, is over. */
  roll(id: string, overlap: string): NewKey {
    const micros = SPAN.test(overlap) ? spanMicros(overlap) : Infinity
    if (micros > MAX_OVERLAP_MICROS) {
      throw invalid('an overlap is a time such as 30m, 24h or 7d, of a year at most')
    }
    const made = this.#with(({ keys }) => keys.roll(id, Math.round(micros / 1000)))
    this.#tell(made, `an operator rolled ${id}`)
    return made
  }

  revoke(id: string): KeyRecord {
    const key = this.#with(({ keys }) => keys.revoke(id))
    this.#tell(key, 'an operator revoked a key')
    return key
  }

  #with<T>(work: (access: Access) => T): T {
    const { dataPath, plansFile } = this.#options
    const access = openAccess(dataPath, plansFile === '' ? {} : { plansFile })
    try {
      return work(access)
    } finally {
      access.close()
    }
  }

  // The text of a key is for the operator alone.
  #tell({ id, plan, name }: KeyRecord, what: string): void {
    this.#options.log.info({ key: id, plan, name }, what)
  }
}

function firstDay(): number {
  const today = Date.now() - (Date.now() % DAY_MS)
  return (today - (USAGE_DAYS - 1) * DAY_MS) * 1000
}

function parseDay(text: string): Micros {
  const wrong = invalid('an end is a day such as 2027-01-01')
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) throw wrong
  let end: Micros
  try {
    end = parseMicros(`${text}T00:00:00Z`)
  } catch {
    throw wrong
  }
  if (end <= Date.now() * 1000) throw invalid('the end lies in the past')
  return end
}

function invalid(why: string): PriorbookError {
  return new PriorbookError('invalid_argument', why)
}
