import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { toMicros, type Micros } from '@priorbook/sdk/domain'
import { Authenticator } from './authenticator.ts'
import { openConnections, type Connections } from './connections.ts'
import { CONTROL_FILE, openControl, deriveKeyText, readSecrets } from './control.ts'
import { KeyCopy } from './key-copy.ts'
import { hashKey } from './key-text.ts'
import { KeyRing } from './keys.ts'
import { Redis } from '../../lib/redis.ts'
import { LIMITS_FILE, openLimiter, type Limiter } from './limiter.ts'
import { openPlanBook, PLANS_FILE, type PlanBook } from './plans.ts'
import { SharedLimiter } from './shared-limiter.ts'
import { UsageMeter } from './usage.ts'

/** Keys, plans, limits and usage of one data folder. */
export type Access = {
  readonly keys: KeyRing
  /** The keys as they are known now, also while the file is damaged or missing. */
  readonly knownKeys: Pick<KeyCopy, 'list' | 'revision'>
  readonly plans: PlanBook
  readonly authenticator: Authenticator
  readonly limiter: Limiter | SharedLimiter
  readonly connections: Connections
  readonly usage: UsageMeter
  /** Newest first; the first secret signs cursors. */
  readonly cursorSecrets: readonly Uint8Array[]
  /** The key of an emulated data folder, created once and shown at every start. */
  demoKey(plan: string): string
  close(): void
}

/** Opens the control files of a data folder; several processes may share them. */
export function openAccess(
  dataPath: string,
  options: {
    readonly plansFile?: string
    /** The server on which several nodes count requests together. */
    readonly redis?: string
    readonly now?: () => Micros
    readonly onTrouble?: (why: string) => void
  } = {},
): Access {
  const { now = () => toMicros(Date.now() * 1000), onTrouble } = options
  const plans = openPlanBook(options.plansFile ?? join(dataPath, PLANS_FILE), onTrouble)
  const file = join(dataPath, CONTROL_FILE)
  let database = openControl(file)
  let keys = new KeyRing(database, now)
  const own = openLimiter(join(dataPath, LIMITS_FILE), onTrouble)
  const limiter = options.redis === undefined ? own : shareLimiter(options.redis, own, onTrouble)
  const connections = openConnections(join(dataPath, LIMITS_FILE), onTrouble)
  const usage = new UsageMeter(database, onTrouble)
  const onReplaced = (next: DatabaseSync): void => {
    usage.use(next)
    keys = new KeyRing(next, now)
    database.close()
    database = next
  }
  const copy = new KeyCopy(file, database, onReplaced, onTrouble ?? (() => undefined))
  return {
    // Those of the present file, which an operator may replace.
    get keys() {
      copy.revision()
      return keys
    },
    knownKeys: copy,
    plans,
    authenticator: new Authenticator(copy, plans),
    limiter,
    connections,
    usage,
    cursorSecrets: readSecrets(database, 'cursor', now()),
    demoKey(plan) {
      const text = deriveKeyText(readSecrets(database, 'demo_key', now())[0]!)
      if (keys.findByHash(hashKey(text)) === undefined) keys.create({ plan, name: 'demo', text })
      return text
    },
    close() {
      usage.close()
      connections.close()
      limiter.close()
      database.close()
    },
  }
}

function shareLimiter(
  address: string,
  own: Limiter,
  onTrouble: (why: string) => void = () => undefined,
): SharedLimiter {
  return new SharedLimiter(new Redis(address, onTrouble), own, onTrouble)
}
