import * as v from 'valibot'

/** One value of the configuration: what it must be, its default and its sentence. */
export type Setting<T> = {
  readonly must: v.GenericSchema<T>
  readonly default: T
  readonly description: string
  /** Reads it from the environment or the command line, where that is not plain text. */
  fromText?(text: string): unknown
}

/** Settings by name; a group may hold further groups. */
export type SettingGroup = { readonly [name: string]: Setting<unknown> | SettingGroup }

/** The values that a group of settings describes. */
export type SettingValues<T> =
  T extends Setting<infer Value> ? Value : { readonly [Name in keyof T]: SettingValues<T[Name]> }

/** Defines a setting with its default and a sentence about it. */
export function setting<T>(
  must: v.GenericSchema<T>,
  usual: NoInfer<T>,
  description: string,
): Setting<T> {
  return { must, default: usual, description }
}

/** Any text, or one that has a form. */
export function text(form = /(?:)/): v.GenericSchema<string> {
  return v.pipe(v.string('must be text'), v.regex(form, `must match ${form.source}`))
}

/** Several texts. */
export function texts(): v.GenericSchema<string[]> {
  return v.array(v.string('must hold texts only'), 'must be a list of texts')
}

/** The address of a WebSocket, or nothing. */
export function socketAddress(): v.GenericSchema<string> {
  const isAddress = (address: string): boolean =>
    address === '' || (/^wss?:\/\/[^#]+$/.test(address) && URL.canParse(address))
  return v.pipe(
    v.string('must be text'),
    v.check(isAddress, 'must be an address of ws:// or wss://, or empty'),
  )
}

/** Several of a list of words. */
export function wordsOf(words: readonly string[]): v.GenericSchema<string[]> {
  const one = v.picklist(words, `must hold only words of ${words.join(', ')}`)
  return v.array(one, 'must be a list of texts')
}

/** One of a list of words. */
export function word<const Words extends readonly string[]>(
  words: Words,
): v.GenericSchema<Words[number]> {
  return v.picklist(words, `must be one of ${words.join(', ')}`)
}

/** True or false. */
export function flag(): v.GenericSchema<boolean> {
  return v.boolean('must be true or false')
}

/** A number between two bounds. */
export function amount(min: number, max: number): v.GenericSchema<number> {
  return v.pipe(
    v.number('must be a number'),
    v.minValue(min, `must be >= ${min}`),
    v.maxValue(max, `must be <= ${max}`),
  )
}

/** A whole number between two bounds. */
export function whole(
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
): v.GenericSchema<number> {
  return v.pipe(amount(min, max), v.integer('must be a whole number'))
}
