/** placeholder */
export async function benchGrowth(): Promise<Record<string, unknown>> {
  return {}
}
