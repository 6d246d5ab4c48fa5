import { PriorbookApiError, PriorbookClientError } from '@priorbook/sdk/client'

/** A failure in words that help, with a suggested action. */
export type Trouble = {
  readonly code: string
  readonly title: string
  readonly text: string
  readonly action?: 'key' | 'markets' | 'events' | 'contracts' | 'demo' | undefined
  /** True where a retry may succeed; the page then retries by itself. */
  readonly isTemporary: boolean
}

/** Explains an error to the visitor. */
export function toTrouble(error: unknown): Trouble {
  if (error instanceof PriorbookApiError) return ofServer(error)
  if (error instanceof PriorbookClientError) {
    if (error.code === 'invalid_option') {
      return {
        code: error.code,
        title: 'This key cannot be used',
        text: `${sentence(error.message)} Paste it again.`,
        action: 'key',
        isTemporary: false,
      }
    }
    const isNetwork = error.code === 'network_failed' || error.code === 'timed_out'
    return {
      code: error.code,
      title: isNetwork ? 'The server does not answer' : 'The server’s answer could not be read',
      text: isNetwork
        ? 'It may be restarting. The page retries every few seconds and continues where it was.'
        : `${sentence(error.message)} The page retries.`,
      isTemporary: true,
    }
  }
  const detail = error instanceof Error ? error.message : String(error)
  return {
    code: 'unforeseen',
    title: 'Something went wrong on this page',
    text: `${sentence(detail)} Reload the page. The recorded data is not affected.`,
    isTemporary: false,
  }
}

function ofServer(error: PriorbookApiError): Trouble {
  const { code, message, hint, plan, retryAfter } = error
  const advice = hint === undefined ? '' : ` ${sentence(hint)}`
  const made = (title: string, text: string, more: Partial<Trouble> = {}): Trouble => ({
    code,
    title,
    text,
    isTemporary: false,
    ...more,
  })
  switch (code) {
    case 'unknown_market':
      return made(
        'No such market has been recorded',
        `${sentence(message)}${advice} Search the list of markets by id, title or slug.`,
        { action: 'markets' },
      )
    case 'unknown_event':
      return made(
        'No such event has been recorded',
        `${sentence(message)}${advice} Search the list of events by id, title or slug.`,
        { action: 'events' },
      )
    case 'unknown_contract':
      return made('No such contract is known', `${sentence(message)}${advice}`, {
        action: 'contracts',
      })
    case 'unknown_asset':
      return made('This asset is not recorded', `${sentence(message)}${advice}`, {
        action: 'markets',
      })
    case 'expired_key':
      return made(
        'Your key has expired',
        'Paste a new one, or look at demonstration data without a key.',
        { action: 'key' },
      )
    case 'revoked_key':
      return made(
        'Your key was revoked',
        'Paste another one, or look at demonstration data without a key.',
        { action: 'key' },
      )
    case 'invalid_key':
    case 'missing_key':
      return made(
        'This key is not one of this service',
        'It may be incomplete: a key begins with pb_live_ and has 44 characters. Paste it again, or look at demonstration data without a key.',
        { action: 'key' },
      )
    case 'plan_required':
      return made(
        'Your plan does not include this',
        `${sentence(message)}${advice === '' && plan !== undefined ? ` The plan “${plan}” does.` : advice}`,
        { action: 'key' },
      )
    case 'rate_limited':
      return made(
        'The rate limit of your key is used up',
        `The page continues by itself in ${Math.max(1, Math.ceil(retryAfter ?? 1))} s.`,
        { isTemporary: true },
      )
    default:
      return made(error.title, `${sentence(message)}${advice}`, {
        isTemporary: error.status >= 500,
      })
  }
}

function sentence(text: string): string {
  const trimmed = text.trim()
  const whole = /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`
  return whole.charAt(0).toUpperCase() + whole.slice(1)
}

/** How long the page waits before it repeats a request that failed for a temporary reason. */
export const RETRY_MS = 3000

/** Waits, or until the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}

/** Repeats a load while it fails for temporary reasons; returns whether it succeeded. */
export async function retryLoad(
  load: () => Promise<void>,
  signal: AbortSignal,
  onTrouble: (trouble: Trouble) => void = () => undefined,
): Promise<boolean> {
  while (!signal.aborted) {
    try {
      await load()
      return !signal.aborted
    } catch (error) {
      if (signal.aborted) return false
      const trouble = toTrouble(error)
      onTrouble(trouble)
      if (!trouble.isTemporary) return false
      await pause(RETRY_MS, signal)
    }
  }
  return false
}
