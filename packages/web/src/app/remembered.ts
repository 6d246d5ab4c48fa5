import { effect, signal, type Signal } from '@preact/signals'

/** A choice of the visitor that this browser remembers; at first it is the first one. */
export function remembered<Choice extends string>(
  name: string,
  choices: readonly [Choice, ...Choice[]],
): Signal<Choice> {
  const choice = signal(read(name, choices))
  effect(() => {
    const { value } = choice
    try {
      localStorage.setItem(name, value)
    } catch {
      // Without storage the choice lasts until the page is left.
    }
  })
  return choice
}

function read<Choice extends string>(
  name: string,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  try {
    const kept = localStorage.getItem(name)
    return choices.find((choice) => choice === kept) ?? choices[0]
  } catch {
    return choices[0]
  }
}
