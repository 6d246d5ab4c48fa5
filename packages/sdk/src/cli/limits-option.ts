import { parseMoney, type AccountLimits } from '../backtest/index.ts'
import { parsedOption, UsageError } from '../command-line/index.ts'

/** The option that sets the limits of the account. */
export const LIMITS_OPTION = parsedOption(
  'Limits of the account, enforced as by a venue: position=100,loss=50,rate=10.',
  { value: 'LIST' },
  parseLimits,
)

type Limit = keyof AccountLimits

// Whether a value can be the limit of this name.
const CHECKS: Readonly<Record<Limit, (value: string) => boolean>> = {
  position: (value) => /^\d{1,9}(\.\d{1,8})?$/.test(value) && Number(value) > 0,
  loss: isAmount,
  rate: (value) => /^[1-9]\d{0,5}$/.test(value),
}

/** Reads `position=100,loss=50,rate=10`. */
function parseLimits(text: string): AccountLimits {
  const limits: { -readonly [Name in Limit]?: AccountLimits[Name] } = {}
  for (const part of text.split(',')) {
    const [, name = '', value = ''] = /^\s*(\w+)=(\S+)\s*$/.exec(part) ?? []
    if (!isLimit(name) || !CHECKS[name](value) || limits[name] !== undefined) {
      throw new UsageError(
        `--limits holds ${part === '' ? 'nothing' : part}`,
        'It is position=SHARES, loss=AMOUNT or rate=REQUESTS a second, each once and above 0, with commas between.',
      )
    }
    if (name === 'rate') limits.rate = Number(value)
    else limits[name] = value
  }
  return limits
}

function isLimit(name: string): name is Limit {
  return Object.hasOwn(CHECKS, name)
}

function isAmount(value: string): boolean {
  try {
    return parseMoney(value) > 0
  } catch {
    return false
  }
}
