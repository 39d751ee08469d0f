// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {TestDollar} from "./TestDollar.sol";

/// @title A token that lies
/// @notice Takes every authorization without a word and moves nothing: no revert, no event, no balance.
/// @dev Who believes that a transaction which did not revert has paid is fooled by it.
contract SilentDollar is TestDollar {
    function transferWithAuthorization(
        address,
        address,
        uint256,
        uint256,
        uint256,
        bytes32,
        bytes memory
    ) public pure override {}
}
