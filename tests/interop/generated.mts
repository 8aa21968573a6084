// What a program in TypeScript reads with the types of openapi-typescript. `tsc --strict` checks it; then it runs against the server.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Caveat = components["schemas"]["Caveat"];
type Overview = components["schemas"]["OverviewOutput"];

const base = process.argv[2] ?? "";
const client = createClient<paths>({ baseUrl: base });

/** The variants of a caveat are told apart by their code: each has parameters of its own. */
function said(caveat: Caveat): string {
    switch (caveat.code) {
        case "source_stale":
            return `${caveat.params.source ?? "the mean"} of ${caveat.params.as_of}`;
        case "price_missing":
            return `${caveat.params.currency}: ${caveat.params.reason}`;
        default:
            return caveat.code;
    }
}

const wallets = await client.GET("/v1/wallets");
const example = wallets.data?.endpoints.find(row => row.example?.endsWith("/overview"))?.example ?? "";
const address = example.split("/").at(-2) ?? "";
const { data, error } = await client.GET("/v1/wallets/{address}/overview", { params: { path: { address } } });
if (error !== undefined || data === undefined) throw new Error(JSON.stringify(error));
const overview: Overview = data;
const balance: number = overview.balance.confirmed_sats;
if (!(balance > 0)) throw new Error(`no balance: ${balance}`);
const caveats: string[] = overview.caveat_codes.map(said);
const health = await client.GET("/api/health");
const status: string | undefined = health.data?.status;
console.log(`openapi-typescript: a balance of ${balance}, ${caveats.length} caveats, health ${status}`);
