import { describePlans } from "./suite.ts";

describePlans("13");
