import { NAME, type JsonSchema } from '../json-schema.ts'

/** A JSON value of a document. */
export type DocumentPart = Readonly<Record<string, unknown>>

/** Collects named schemas: each is listed once and referred to from then on. */
export class SchemaComponents {
  private readonly byName = new Map<string, DocumentPart>()
  private readonly seen = new Map<JsonSchema, DocumentPart>()

  /** The schemas by their names, in alphabetical order. */
  all(): DocumentPart {
    return Object.fromEntries([...this.byName].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** A schema as documents show it: a reference where it has a name. */
  refer(schema: JsonSchema): DocumentPart {
    const name = schema[NAME]
    if (name === undefined) return this.expand(schema)
    if (!this.seen.has(schema)) {
      const expanded = this.expand(schema)
      const before = this.byName.get(name)
      if (before !== undefined && JSON.stringify(before) !== JSON.stringify(expanded)) {
        throw new Error(`two different schemas are named ${name}`)
      }
      this.byName.set(name, expanded)
      this.seen.set(schema, expanded)
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  private expand(schema: JsonSchema): DocumentPart {
    // A described use of a component is a reference with a sentence of its own.
    const { allOf, description } = schema
    if (Array.isArray(allOf) && allOf.length === 1 && description !== undefined) {
      return { ...this.refer(allOf[0] as JsonSchema), description }
    }
    return Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.member(keyword, value)]),
    )
  }

  private member(keyword: string, value: unknown): unknown {
    if (keyword === 'items') return this.refer(value as JsonSchema)
    if (keyword === 'anyOf' || keyword === 'allOf') {
      return (value as readonly JsonSchema[]).map((one) => this.refer(one))
    }
    if (keyword !== 'properties') return value
    const entries = Object.entries(value as Readonly<Record<string, JsonSchema>>)
    return Object.fromEntries(entries.map(([name, one]) => [name, this.refer(one)]))
  }
}
